from pathlib import Path
from xml.etree import ElementTree

from verigold.report.findings import read
from verigold.report.picture import HEIGHT, MARGIN, WIDTH, describe, render_picture

NAMESPACE = "{http://www.w3.org/2000/svg}"


def test_picture_stands_alone(root: Path) -> None:
    picture = ElementTree.fromstring(render_picture(root))
    assert picture.attrib["viewBox"] == f"0 0 {WIDTH:g} {HEIGHT:g}"
    assert "prefers-color-scheme: dark" in (picture.findtext(f"{NAMESPACE}style") or "")
    assert picture.findtext(f"{NAMESPACE}desc") == describe(read(root))
    texts = [item.text for item in picture.iter(f"{NAMESPACE}text")]
    assert "840 real rows in, 595 kept" in texts
    assert {"DAPO", "random rewards", "base"} <= set(texts)


def test_picture_is_readable_at_half_size(root: Path) -> None:
    sizes = [
        float(item.attrib["font-size"])
        for item in ElementTree.fromstring(render_picture(root)).iter()
        if "font-size" in item.attrib
    ]
    assert min(sizes) >= 14
    assert MARGIN >= 16


def test_picture_of_nothing_says_so(tmp_path: Path) -> None:
    assert "not run" in render_picture(tmp_path)
    ElementTree.fromstring(render_picture(tmp_path))
