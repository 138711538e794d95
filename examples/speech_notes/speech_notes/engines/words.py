"""The words of English that the rules of punctuation know."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOMINATIVE = _words("i we he she they i'm i've i'll i'd we're we've we'll we'd they're they've he's she's")
"""Pronouns that begin a clause wherever they stand."""
SUBJECTS = NOMINATIVE | _words("it you this that there it's you're that's there's these those")
AUXILIARIES = _words(
    "is are was were am do does did can could will would should shall may might must has have had "
    "isn't aren't wasn't weren't don't doesn't didn't can't couldn't won't wouldn't shouldn't "
    "hasn't haven't"
)
FINITE = AUXILIARIES | _words("means looks seems works takes makes needs says feels sounds turns goes comes")
QUESTIONS = _words("what how why where who when which what's how's where's who's")
OPENERS = _words("so okay ok anyway now well alright finally next however then also unfortunately")
"""Words that open a sentence when a subject follows."""
COMMA_AFTER = _words("okay ok anyway well alright finally however unfortunately yes no")
JOINTS = _words("and but so then because or")
DETERMINERS = _words("the a an my our your his her its their this that these those some any every no")
PREPOSITIONS = _words(
    "of in on at to for with from by about into over after before under between through during "
    "without within against per via"
)
ASKED = _words("you we i they he she")
"""Behind an auxiliary one of these makes a question."""
TIGHT = QUESTIONS | JOINTS | AUXILIARIES | DETERMINERS | PREPOSITIONS
"""After one of these nothing begins."""
BINDERS = TIGHT | _words(
    "if that whether than as since while until unless although though like not just only even also "
    "think thinks thought know knows knew believe believes hope hopes guess suppose feel say says "
    "said tell tells told mean means see saw sure glad afraid wish let lets let's make makes made "
    "help everything anything nothing something all thing things way ways time times day reason "
    "place kind every each very too more most less be been being i we he she they you it maybe "
    "perhaps"
)
"""After one of these no statement begins."""

PROPER = {
    word.lower(): word
    for word in _words(
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February April June July "
        "August September October November December English German French Spanish Italian Chinese "
        "Japanese Europe European America American Africa Asia India China Germany France Spain "
        "London Paris Berlin Python Linux GPU GPUs CPU CPUs API APIs CUDA ASR LLM USA UK EU TV PDF"
    )
}
"""Written with capitals wherever they stand. May and March are not here: they are words as well."""

STOP = (
    _words(
        "be been being not just very really much many also here than well okay yeah yes like got "
        "get gets going one thing things something them him us me mine yours as if while about "
        "again still up down out off let's lets said say says think know want because look looks "
        "looked make makes made take takes took come came go goes went done use used need needs "
        "put see saw meet then right"
    )
    | SUBJECTS
    | AUXILIARIES
    | DETERMINERS
    | PREPOSITIONS
    | JOINTS
    | QUESTIONS
    | OPENERS
)
"""What says nothing of what a text is about."""
