"""Snippets of code: Python is executed, Go is compiled against quic-go; Rust, C and C++ are checked for their form, and
what the lab's servers have too is compared with them."""

import hashlib
import json
import shutil
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
from aioquic.quic.logger import QuicFileLogger
from document_cover import left_to
from document_items import ROOT, Item, items
from quiclens_lab.aioquic_server import is_logged

QUICGO = ROOT / "lab" / "quicgo"
# What the snippets take from the libraries that they are written for, and no more.
C_BEFORE = {
    "ngtcp2.md": """
#include <stdint.h>
#include <stdio.h>
struct connection { FILE *qlog; };
struct { void (*qlog_write)(void *, uint32_t, const void *, size_t); } settings;
""",
    "picoquic.md": "typedef struct st_picoquic_quic_t picoquic_quic_t;\npicoquic_quic_t *quic;\n",
}
# Of the header that it includes.
PICOQUIC_H = """
typedef struct st_picoquic_quic_t picoquic_quic_t;
int picoquic_set_qlog(picoquic_quic_t *, char const *);
void picoquic_set_log_level(picoquic_quic_t *, int);
void picoquic_set_max_simultaneous_logs(picoquic_quic_t *, unsigned);
void picoquic_use_unique_log_names(picoquic_quic_t *, int);
"""
CPP_BEFORE = """
#include <memory>
#include <string>
namespace quic {
enum class VantagePoint { Client, Server };
constexpr auto kHTTP3ProtocolType = "HTTP3";
struct QLogger { virtual ~QLogger() = default; };
struct FileQLogger : QLogger {
  FileQLogger(VantagePoint, std::string protocol, std::string path, bool prettyJson, bool streaming, bool compress);
};
struct Transport { void setQLogger(std::shared_ptr<QLogger>); };
}
std::shared_ptr<quic::Transport> transport;
"""
GO_IMPORTS = {
    "quic.": "github.com/quic-go/quic-go", "qlog.": "github.com/quic-go/quic-go/qlog",
    "qlogwriter.": "github.com/quic-go/quic-go/qlogwriter", "context.": "context", "sha256.": "crypto/sha256",
    "binary.": "encoding/binary",
}  # fmt: skip


SHOWN = [*left_to("go", "block"), *left_to("rust"), *left_to("c"), *left_to("cpp"), *left_to("py")]


def the(kind: str, page: str) -> Item:
    """The snippet of a page in a language; that of aioquic's page is one of several kinds of Python."""
    every = [*SHOWN, *(item for item in items() if item.kind == "python")]
    (found,) = [item for item in every if item.kind == kind and item.page.endswith(page)]
    return found


def checked(words: list[str | Path], source: str = "", folder: Path | None = None) -> None:
    done = subprocess.run(words, input=source, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr + source


@pytest.mark.skipif(shutil.which("go") is None, reason="no go")
@pytest.mark.parametrize("item", left_to("go", "block"), ids=str)
def test_go_compiles_against_quic_go(item: Item, tmp_path: Path) -> None:
    imports = "\n".join(f'import "{path}"' for name, path in GO_IMPORTS.items() if name in item.text)
    body = textwrap.indent(item.text, "\t")
    source = tmp_path / "main.go"
    source.write_text(f"package main\n\n{imports}\n\nfunc main() {{\n{body}\t_ = config\n}}\n", encoding="utf-8")
    # A package of the lab's module that only this build sees.
    (tmp_path / "overlay.json").write_text(
        json.dumps({"Replace": {str(QUICGO / "cmd/documents/main.go"): str(source)}})
    )
    words: list[str | Path] = ["go", "build", "-overlay", tmp_path / "overlay.json", "-o", tmp_path / "built"]
    checked([*words, "./cmd/documents"], folder=QUICGO)
    gofmt = subprocess.run(["gofmt", "-l", source], capture_output=True, text=True, check=True)
    assert gofmt.stdout == ""


def test_the_labs_go_server_chooses_as_the_page_does() -> None:
    shown = the("go", "logging-cost.md").text
    ours = (QUICGO / "cmd" / "server" / "main.go").read_text(encoding="utf-8")
    for line in ("sha256.Sum256(id.Bytes())", "float64(binary.BigEndian.Uint32(sum[:4]))/(1<<32)"):
        assert line in shown and line in ours
    assert "return nil" in shown and "return nil" in (QUICGO / "cmd" / "server" / "tracer.go").read_text(
        encoding="utf-8"
    )


@pytest.mark.skipif(shutil.which("rustfmt") is None, reason="no rustfmt")
@pytest.mark.parametrize("item", left_to("rust"), ids=str)
def test_rust_is_rust(item: Item) -> None:
    """rustfmt parses it whole; types are not looked at. A statement that the page leaves open is closed."""
    body = textwrap.indent(item.text.rstrip(), "    ")
    checked(["rustfmt", "--edition", "2021", "--emit", "stdout"], f"fn shown() -> Shown {{\n{body}\n}}\n")


def test_the_labs_rust_server_does_what_the_pages_do() -> None:
    server = (ROOT / "lab" / "quinn" / "src" / "server" / "main.rs").read_text(encoding="utf-8")
    in_common = {
        "quinn.md": ("QlogConfig::default();", "qlog.writer(Box::new(", "transport.qlog_stream(qlog.into_stream());",
                     "incoming.accept_with("),
        "logging-cost.md": (".iter().take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));",
                            "f64::from(first) / 2_f64.powi(32)", "incoming.accept_with(", "incoming.orig_dst_cid()"),
    }  # fmt: skip
    for page, lines in in_common.items():
        shown = the("rust", page).text
        assert [line for line in lines if line not in shown or line not in server] == []


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("page", sorted(C_BEFORE))
def test_c_compiles_with_what_it_calls_declared(page: str, tmp_path: Path) -> None:
    (tmp_path / "picoquic_qlog.h").write_text(PICOQUIC_H, encoding="utf-8")
    shown = the("c", page).text
    # Definitions stand outside of a function, what is called within one.
    begins = "/* before" if page == "ngtcp2.md" else "picoquic_set_qlog"
    outside, inside = shown[: shown.index(begins)], shown[shown.index(begins) :]
    source = f"{C_BEFORE[page]}{outside}void shown(void) {{\n{inside}}}\n"
    checked(["gcc", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}", "-x", "c", "-"], source)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_cpp_compiles_with_what_it_calls_declared() -> None:
    source = f"{CPP_BEFORE}void shown() {{\n{the('cpp', 'mvfst-proxygen.md').text}}}\n"
    checked(["g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Werror", "-x", "c++", "-"], source)


def test_aioquics_configuration_logs_where_the_page_says(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    source = the("python", "aioquic.md").text.replace("/var/log/quic/traces", str(tmp_path))
    exec(compile(source, "aioquic.md", "exec"), names)
    configuration = names["configuration"]
    logger = configuration.quic_logger
    logger.end_trace(logger.start_trace(is_client=False, odcid=b"\x83\x94\xc8\xf0"))
    assert not configuration.is_client and (tmp_path / "8394c8f0.qlog").is_file()


def test_aioquics_share_is_the_labs(tmp_path: Path) -> None:
    names: dict[str, Any] = {"QuicFileLogger": QuicFileLogger, "hashlib": hashlib}
    exec(compile(the("py", "logging-cost.md").text, "logging-cost.md", "exec"), names)
    logger = names["ShareLogger"](str(tmp_path))
    ids = [number.to_bytes(8, "big") for number in range(2000)]
    logged = {each for each in ids if logger.start_trace(False, each) is not None}
    assert logged == {each for each in ids if is_logged(each, 0.01)} and 5 < len(logged) < 40
