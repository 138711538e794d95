"""The names of people and machines are taken out of a text, and nothing else is."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from coldfork.observe.secrets.identities import Identity, anonymous

HOME, MAC = str(PurePosixPath("/", "home")), str(PurePosixPath("/", "Users"))
WHO = Identity(("gpu-17", "gpu-17.lab.example"), ("ada", "root"), "/srv/people/ada")


@pytest.mark.parametrize(
    ("text", "clear"),
    [
        ("in /srv/people/ada/venv/bin", "in ~/venv/bin"),
        ("in /srv/people/ada", "in ~"),
        ("PATH=/srv/people/ada/bin:/usr/bin", "PATH=~/bin:/usr/bin"),
        ("in /srv/people/adam/venv", "in /srv/people/adam/venv"),
        ("in /mnt/srv/people/ada/venv", "in /mnt/srv/people/<user>/venv"),
        (f"{HOME}/bob/x and {MAC}/eve", f"{HOME}/<user>/x and {MAC}/<user>"),
        ("on gpu-17.lab.example and gpu-17", "on <host> and <host>"),
        ("on gpu-170 and xgpu-17", "on gpu-170 and xgpu-17"),
        ("ada owns it, Canada does not", "<user> owns it, Canada does not"),
        ("ask root", "ask root"),
        ("GPU-1b2c3d4e-0000-4000-8000-000000000001 ", "GPU-<uuid> "),
        ("MIG-1b2c3d4e-0000-4000-8000-000000000001,0", "MIG-<uuid>,0"),
        ("cu12-torch2.8-cxx11-abi", "cu12-torch2.8-cxx11-abi"),
        ("1b2c3d4e-0000-4000-8000-00000000000", "1b2c3d4e-0000-4000-8000-00000000000"),
        ("", ""),
    ],
)
def test_names_are_replaced_and_words_that_hold_them_are_not(text: str, clear: str) -> None:
    assert anonymous(text, WHO) == clear


def test_without_names_a_text_stays_as_it_is() -> None:
    assert anonymous("python 3.11 on a-b-c", Identity()) == "python 3.11 on a-b-c"
