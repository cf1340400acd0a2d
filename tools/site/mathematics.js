// Renders equations: one request and one answer a line, in JSON. The argument is the path of KaTeX.
const katex = require(process.argv[2]);
const lines = require("readline").createInterface({ input: process.stdin });

lines.on("line", (line) => {
  const { tex, displayMode } = JSON.parse(line);
  let answer;
  try {
    answer = { html: katex.renderToString(tex, { displayMode, strict: false }) };
  } catch (error) {
    answer = { error: `${error.message} in ${tex}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});
