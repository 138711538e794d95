"""What an editor offers to do about a finding: mend its cause, or ignore it with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lsprotocol import types
from pygls.workspace import PositionCodec

from coldfork.checking.session import CheckSession
from coldfork.lsp.answer import Answer, Place
from coldfork.lsp.shown import SOURCE, Shown
from coldfork.mending.drafting import fix_of
from coldfork.mending.mender import mend, project_of
from coldfork.model.causes import Applicability, Fix

_REASON = "say why it is all right here"
_IGNORED = re.compile(r"#\s*coldfork:\s*ignore")
_TITLES = {
    Applicability.SAFE: "Mend: the program does what it did, but for when the device is woken",
    Applicability.UNSAFE: "Mend, and look at it: {}",
}


class Actions:
    """The actions for what an answer has found."""

    def __init__(self, answer: Answer, codec: PositionCodec) -> None:
        self._answer = answer
        self._codec = codec
        self._shown = Shown(answer, codec)

    def about(
        self, file: str, diagnostics: Sequence[types.Diagnostic], version: int | None
    ) -> Iterator[types.CodeAction]:
        """What can be done about these diagnostics of a file; the edits of a fix come when it is chosen."""
        for diagnostic in diagnostics:
            if diagnostic.source != SOURCE or not isinstance(diagnostic.data, dict):
                continue
            fix = self._draft(str(diagnostic.data.get("cause")))
            if fix is not None:
                yield types.CodeAction(
                    title=_TITLES[fix.applicability].format(fix.reason),
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[diagnostic],
                    is_preferred=fix.applicability is Applicability.SAFE,
                    data={"cause": fix.cause, "file": file},
                )
            ignoring = self._ignoring(file, diagnostic, version)
            if ignoring is not None:
                yield ignoring

    def mended(self, session: CheckSession, cause: str) -> types.WorkspaceEdit | None:
        """The edits of a fix after which a check finds the cause no more and nothing new; None for none."""
        request = replace(self._answer.inspection.request, cancelled=None)
        done = mend(request, session.inspect, Applicability.UNSAFE, causes=frozenset({cause}))
        if not done.mended:
            return None
        changes: list[types.TextDocumentEdit] = []
        edits: dict[str, list[types.TextEdit]] = {}
        for edit in done.mended[0].edits:
            place = self._answer.place(edit.path, edit.line, edit.column - 1)
            end = Place(place.file, edit.end_line - 1, edit.end_column - 1)
            edits.setdefault(place.file, []).append(types.TextEdit(self._shown.span(place, end), edit.text))
        for file, listed in edits.items():
            # Of a file that is open the editor refuses edits of an older text.
            version = self._answer.versions.get(file)
            document = types.OptionalVersionedTextDocumentIdentifier(Path(file).as_uri(), version)
            changes.append(types.TextDocumentEdit(document, list(listed)))
        return types.WorkspaceEdit(document_changes=list(changes))

    def _draft(self, cause: str) -> Fix | None:
        report = self._answer.report
        for one in report.causes:
            if one.id == cause and not one.accepted:
                findings = {finding.id: finding for finding in report.findings}
                fix = fix_of(one, findings, project_of(self._answer.inspection))
                is_offered = isinstance(fix, Fix) and fix.applicability is not Applicability.SHOWN
                return fix if isinstance(fix, Fix) and is_offered else None
        return None

    def _ignoring(
        self, file: str, diagnostic: types.Diagnostic, version: int | None
    ) -> types.CodeAction | None:
        line = diagnostic.range.start.line
        lines = self._answer.lines(file)
        text = lines[line].rstrip("\r\n") if line < len(lines) else ""
        if not text.strip() or text.endswith("\\") or _IGNORED.search(text):
            return None
        end = self._codec.client_num_units(text)
        place = types.Range(types.Position(line, end), types.Position(line, end))
        comment = f"  # coldfork: ignore[{diagnostic.code}] {_REASON}"
        document = types.OptionalVersionedTextDocumentIdentifier(Path(file).as_uri(), version)
        edit = types.TextDocumentEdit(document, [types.TextEdit(place, comment)])
        return types.CodeAction(
            title=f"Ignore {diagnostic.code} on this line, with a reason",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            edit=types.WorkspaceEdit(document_changes=[edit]),
        )
