"""A spreadsheet as Excel writes it, as small as it gets: what tests upload."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'


def excel_file(rows: Sequence[Sequence[str | float]]) -> bytes:
    """Return the bytes of an .xlsx file with one sheet; the first row is its header."""
    sheet = "".join(f"<row>{''.join(_cell(value) for value in row)}</row>" for row in rows)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" '
        'ContentType="application/xml"/><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>',
        "_rels/.rels": _link(f"{_OFFICE}/officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": _link(f"{_OFFICE}/worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, _HEAD + text)
    return out.getvalue()


def _link(kind: str, target: str) -> str:
    return (
        f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{kind}" '
        f'Target="{target}"/></Relationships>'
    )


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value}</v></c>"
