"""Code actions for a finding: mend its cause, ignore it with a reason, or show what it wakes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lsprotocol import types
from pygls.workspace import PositionCodec

from coldfork.checking.session import CheckSession
from coldfork.lsp.answer import Answer
from coldfork.lsp.shown import SOURCE, Shown
from coldfork.mending.drafting import fix_of
from coldfork.mending.mender import mend, project_of
from coldfork.model.causes import Applicability, Fix
from coldfork.report.shared.quantities import plural

_REASON = "say why this is safe here"
_IGNORED = re.compile(r"#\s*coldfork:\s*ignore")
_TITLES = {
    Applicability.SAFE: "Mend: this changes only when the device is woken",
    Applicability.UNSAFE: "Mend, then review: {}",
}


class Actions:
    """The code actions for the findings of an answer."""

    def __init__(self, answer: Answer, codec: PositionCodec) -> None:
        self._answer = answer
        self._codec = codec
        self._shown = Shown(answer, codec)

    def about(
        self, uri: str, diagnostics: Sequence[types.Diagnostic], command: str
    ) -> Iterator[types.CodeAction | types.Command]:
        """Yield the actions for these diagnostics of a document; their edits are made only when one is
        chosen.

        `command` is the editor's command to show references; it is empty if there is none.
        """
        for diagnostic in diagnostics:
            if diagnostic.source != SOURCE or not isinstance(diagnostic.data, dict):
                continue
            cause = str(diagnostic.data.get("cause"))
            fix = self._draft(cause)
            if fix is not None:
                yield types.CodeAction(
                    title=_TITLES[fix.applicability].format(fix.reason),
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[diagnostic],
                    is_preferred=fix.applicability is Applicability.SAFE,
                    data={"cause": fix.cause, "uri": uri},
                )
            ignoring = self._ignoring(uri, diagnostic)
            if ignoring is not None:
                yield ignoring
            showing = self._showing(cause, command) if command else None
            if showing is not None:
                yield showing

    def mended(self, session: CheckSession, cause: str) -> types.WorkspaceEdit | None:
        """Return a fix's edits, if a check confirms that they remove the cause and add nothing new."""
        request = replace(self._answer.inspection.request, cancelled=None)
        done = mend(request, session.inspect, Applicability.UNSAFE, causes=frozenset({cause}))
        if not done.mended:
            return None
        edits: dict[str, list[types.TextEdit]] = {}
        for edit in done.mended[0].edits:
            place = self._answer.place(edit.path, edit.line, edit.column - 1)
            end = self._answer.place(edit.path, edit.end_line, edit.end_column - 1)
            if place is None or end is None or place.uri != end.uri:
                return None
            edits.setdefault(place.uri, []).append(types.TextEdit(self._shown.span(place, end), edit.text))
        return types.WorkspaceEdit(
            document_changes=[self._edit(uri, listed) for uri, listed in edits.items()]
        )

    def _edit(self, uri: str, edits: Sequence[types.TextEdit]) -> types.TextDocumentEdit:
        """Return the edits of a document, with its version if it is open, because editors refuse outdated
        edits.
        """
        document = types.OptionalVersionedTextDocumentIdentifier(uri, self._answer.version(uri))
        return types.TextDocumentEdit(document, list(edits))

    def _draft(self, cause: str) -> Fix | None:
        report = self._answer.report
        for one in report.causes:
            if one.id == cause and not one.accepted:
                findings = {finding.id: finding for finding in report.findings}
                fix = fix_of(one, findings, project_of(self._answer.inspection))
                is_offered = isinstance(fix, Fix) and fix.applicability is not Applicability.SHOWN
                return fix if isinstance(fix, Fix) and is_offered else None
        return None

    def _ignoring(self, uri: str, diagnostic: types.Diagnostic) -> types.CodeAction | None:
        line = diagnostic.range.start.line
        lines = self._answer.lines(uri)
        text = lines[line].rstrip("\r\n") if line < len(lines) else ""
        if not text.strip() or text.endswith("\\") or _IGNORED.search(text):
            return None
        end = self._codec.client_num_units(text)
        place = types.Range(types.Position(line, end), types.Position(line, end))
        comment = f"  # coldfork: ignore[{diagnostic.code}] {_REASON}"
        edit = self._edit(uri, [types.TextEdit(place, comment)])
        return types.CodeAction(
            title=f"Ignore {diagnostic.code} on this line, with a reason",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            edit=types.WorkspaceEdit(document_changes=[edit]),
            data={"placeholder": _REASON},
        )

    def _showing(self, cause: str, command: str) -> types.Command | None:
        """Return a command to show which modules this cause wakes."""
        for one in self._answer.report.causes:
            place = self._answer.place(one.path, one.line) if one.line >= 1 else None
            if one.id == cause and one.warms > 1 and place is not None:
                title = f"Show the {plural(one.warms, 'module')} that this wakes"
                arguments = [place.uri, self._shown.span(place).start]
                return types.Command(title, command, arguments=arguments)
        return None
