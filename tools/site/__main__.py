"""Builds the documentation site.

    python -m tools.site [--output build/docs] [--serve [PORT]]

It needs `npm`, which fetches KaTeX and ONNX Runtime Web in the versions of `package-lock.json`, once. The pages load
nothing from any other host.
"""

import argparse
import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
HERE = pathlib.Path(__file__).parent
OUTPUT = ROOT / "build" / "docs"
WORK = ROOT / "build" / "site"


def fetched_packages():
    """Returns the folder of the packages from npm, which are fetched if the lock file has changed."""
    folder, lock = WORK / "npm", "package-lock.json"
    folder.mkdir(parents=True, exist_ok=True)
    modules = folder / "node_modules"
    is_fetched = (
        modules.exists() and (folder / lock).exists() and (folder / lock).read_text() == (HERE / lock).read_text()
    )
    if not is_fetched:
        for name in ("package.json", lock):
            shutil.copy(HERE / name, folder)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"]
        try:
            subprocess.run(command, cwd=folder, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            (folder / lock).unlink()
            sys.exit(
                f"KaTeX and ONNX Runtime Web could not be fetched: {error}. The site needs npm (https://nodejs.org) "
                "and, the first time, the npm registry. Nothing was built."
            )
    return modules


def copy_static(modules, static):
    """Copies what the pages load in a browser."""
    katex, runtime = modules / "katex" / "dist", modules / "onnxruntime-web" / "dist"
    (static / "katex" / "fonts").mkdir(parents=True)
    for name in ("katex.min.css", "katex.min.js"):
        shutil.copy(katex / name, static / "katex")
    for font in katex.glob("fonts/*.woff2"):
        shutil.copy(font, static / "katex" / "fonts")
    (static / "ort").mkdir()
    for name in ("ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"):
        shutil.copy(runtime / name, static / "ort")


def build(output):
    """Builds the site, and ends the process with a message if anything in it is wrong."""
    modules = fetched_packages()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras_adaptive_rnn
    from examples.tasks import __main__ as tasks
    from tools.site import catalogue, live, llms, names, options, pages, reference, studies

    source, static, extra = WORK / "source", WORK / "static", WORK / "extra"
    for folder in (source, static, extra):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in (source, extra):
        folder.mkdir(parents=True)
    copy_static(modules, static)
    live.write(static / "live")
    listed = names.public()
    site = pages.Site(source, extra, listed)
    site.write_all()
    site.write("tasks/index", tasks.gallery(), "docs/tasks/index.md")
    site.write("catalogue", catalogue.page(site, listed))
    site.write("compare/options", options.page())
    studies.write(site)
    for page, text in reference.pages(listed, site).items():
        site.write(page, text)
    (extra / "llms.txt").write_text(llms.text(site), encoding="utf-8")
    site.write_index()
    try:
        site.write_sources()
    except FileNotFoundError as error:
        sys.exit(str(error))
    shutil.rmtree(output, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-b",
        "html",
        "-W",
        "--keep-going",
        "--quiet",
        "--jobs=auto",
        "-c",
        HERE,
        source,
        output,
    ]
    told = {"STATIC": static, "EXTRA": extra, "VERSION": keras_adaptive_rnn.__version__}
    environment = {**os.environ, **{f"KAR_SITE_{name}": str(value) for name, value in told.items()}}
    code = subprocess.run([*command, "-d", WORK / "doctrees"], cwd=ROOT, env=environment).returncode
    if code:
        sys.exit(code)
    shutil.rmtree(output / ".doctrees", ignore_errors=True)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    print(f"{len(list(output.rglob('*.html')))} pages, {size / 1e6:.0f} MB, in {output}")


def serve(folder, port):
    """Serves the folder on this machine until it is interrupted."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=pathlib.Path, default=OUTPUT, help="folder of the site")
    parser.add_argument("--serve", nargs="?", type=int, const=8000, metavar="PORT", help="serve it afterwards")
    arguments = parser.parse_args()
    build(arguments.output)
    if arguments.serve is not None:
        serve(arguments.output, arguments.serve)


if __name__ == "__main__":
    main()
