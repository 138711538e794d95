"""The results of calls are remembered only while they hold: not in circles, not during passing changes."""

from __future__ import annotations

from coldfork.source.evaluation.budget import Budget
from coldfork.source.evaluation.journal import Journal
from coldfork.source.evaluation.memo import NOTHING, Memo, Place, UnproductiveCalls
from coldfork.source.evaluation.running import EnvironmentVariables
from coldfork.source.values.kinds import FALSE, TRUE, Const, Mapping, Value

PLACE = ("module", 1)
RESULT = NOTHING._replace(value=TRUE)


def follow(memo: Memo, key: str, place: Place = PLACE, *, shared: int = 0) -> bool:
    """Follow a call that does nothing else; False where it was not entered."""
    entered = memo.enter_call(key, place)
    if entered:
        memo.remember(key, RESULT, shared, regardless=False)
        memo.leave_call(key, place)
    return entered


def test_a_finished_call_is_remembered_for_its_own_arguments() -> None:
    memo = Memo(Journal())
    assert follow(memo, "f(1)")
    assert memo.recall("f(1)") == RESULT
    assert memo.recall("f(2)") is None


def test_a_call_inside_itself_is_not_entered_again() -> None:
    memo = Memo(Journal())
    assert memo.enter_call("f(1)", PLACE)
    assert memo.is_followed(PLACE)
    assert not memo.enter_call("f(1)", PLACE)
    memo.leave_call("f(1)", PLACE)
    assert not memo.is_followed(PLACE)
    assert memo.enter_call("f(1)", PLACE)


def test_what_needed_an_unfinished_call_is_remembered_no_sooner_than_that_call_ends() -> None:
    memo = Memo(Journal())
    memo.enter_call("f()", PLACE)
    memo.enter_call("g()", ("module", 2))
    assert not memo.enter_call("f()", PLACE)
    assert not memo.settled
    memo.remember("g()", RESULT, 0, regardless=False)
    memo.leave_call("g()", ("module", 2))
    assert memo.recall("g()") is None
    memo.remember("f()", RESULT, 0, regardless=False)
    memo.leave_call("f()", PLACE)
    assert memo.recall("f()") == RESULT, "only f itself gave the unfinished answer, and it is finished now"
    memo.enter()
    assert memo.settled, "what comes after f at its level has nothing to do with it"


def test_a_function_is_followed_inside_itself_six_times() -> None:
    memo = Memo(Journal())
    entered = [memo.enter_call(f"f({n})", PLACE) for n in range(8)]
    assert entered == [True] * 6 + [False] * 2
    for n in reversed(range(6)):
        assert not memo.settled
        memo.leave_call(f"f({n})", PLACE)
    assert memo.settled


def test_an_answer_that_everything_around_depends_on_settles_nothing() -> None:
    memo = Memo(Journal())
    memo.enter()
    memo.need_unfinished(0)
    memo.need_unfinished(1)
    memo.leave()
    assert not memo.settled, "the outermost level counts, whatever was needed after it"
    memo.begin()
    assert memo.settled


def test_a_call_that_changes_what_others_see_is_followed_each_time() -> None:
    journal = Journal()
    memo = Memo(journal)
    held: dict[Value, Value] = {}
    memo.enter_call("f()", PLACE)
    journal.note_entry(held, "name", None)
    memo.remember("f()", RESULT, 0, regardless=False)
    memo.leave_call("f()", PLACE)
    assert memo.recall("f()") is None


def test_what_calls_come_to_on_top_of_a_change_holds_until_the_next() -> None:
    journal = Journal()
    memo = Memo(journal)
    table = Mapping({})
    table.shared = True
    journal.note(table)
    follow(memo, "f()", shared=journal.shared)
    assert memo.recall("f()") == RESULT
    journal.note(table)
    assert memo.recall("f()") is None
    follow(memo, "f()", shared=journal.shared)
    journal.roll_back()
    assert memo.recall("f()") is None, "without the change it may come to something else"


def test_a_result_is_kept_regardless_where_following_again_would_not_end() -> None:
    memo = Memo(Journal())
    memo.enter_call("f()", PLACE)
    memo.need_unfinished(0)
    memo.remember("f()", RESULT, 0, regardless=True)
    memo.leave_call("f()", PLACE)
    assert memo.recall("f()") == RESULT


def test_tests_get_less_of_the_budget() -> None:
    budget = Budget()
    budget.begin(of_test=False)
    full = budget.left
    budget.begin(of_test=True)
    assert 0 < budget.left < full


def test_the_budget_ends_with_the_statements_or_too_deep_inside_calls() -> None:
    deep, spent = Budget(), Budget()
    deep.depth = 59
    spent.left = 1
    assert [deep.exhausted, spent.exhausted] == [False, False]
    deep.depth += 1
    spent.left -= 1
    assert [deep.exhausted, spent.exhausted] == [True, True]
    deep.begin(of_test=False)
    spent.begin(of_test=False)
    assert [deep.exhausted, spent.exhausted] == [False, False]


def test_only_a_call_that_had_most_of_the_budget_has_used_it_up() -> None:
    budget = Budget()
    full = budget.left
    assert not budget.ran_out(full)
    budget.left = 0
    assert budget.ran_out(full)
    assert not budget.ran_out(full // 2)


def test_a_call_that_ran_unknown_functions_or_woke_something_was_not_in_vain() -> None:
    calls = UnproductiveCalls()
    for _ in range(4):
        calls.record_slow_call(PLACE, NOTHING, calls.begin(PLACE))
    assert not calls.should_skip(PLACE)
    known = calls.begin(PLACE)
    calls.begin(("module", 2))
    calls.record_slow_call(PLACE, NOTHING, known)
    assert not calls.should_skip(PLACE), "it met a function that was not known"
    calls.record_slow_call(PLACE, RESULT, calls.begin(PLACE))
    assert calls.should_skip(PLACE)
    assert calls.summary_of(PLACE) == NOTHING, "what it returns is unknown to those who do not follow it"


def test_environment_variables_tell_equal_calls_apart() -> None:
    variables = EnvironmentVariables()
    given: dict[str, str | None] = {"B": "1"}
    variables.begin(given)
    before = variables.key
    variables.set("A", None)
    assert variables.key != before
    assert given == {"B": "1"}, "what a package sets is not changed for its other modules"
    other = EnvironmentVariables()
    other.begin({})
    other.set("A", None)
    other.set("B", "1")
    assert other.key == variables.key


def test_a_journal_restores_an_entry_as_it_was() -> None:
    journal = Journal()
    held: dict[Value, Value] = {Const("a"): TRUE}
    owner = Mapping(held)
    journal.note_entry(held, Const("a"), owner)
    held[Const("a")] = FALSE
    journal.note_entry(held, Const("b"), owner)
    held[Const("b")] = FALSE
    journal.roll_back()
    assert held == {Const("a"): TRUE}


VARIABLES = "pkg", "made"


def rebinding(memo: Memo, journal: Journal, variables: dict[object, Value], key: str = "f()") -> None:
    """Follow a call that makes something when it is first wanted."""
    memo.enter_call(key, PLACE)
    mark = journal.mark()
    journal.note_variable(variables, VARIABLES)
    variables[VARIABLES] = TRUE
    memo.remember_state(key, RESULT, mark, variables)
    memo.leave_call(key, PLACE)


def test_a_call_that_rebinds_a_variable_does_so_again_for_the_next_module() -> None:
    journal = Journal()
    memo = Memo(journal)
    variables: dict[object, Value] = {}
    rebinding(memo, journal, variables)
    reached = journal.generation
    assert memo.repeat("f()", variables) is None, "it was changed, and the call may come to something else"
    journal.roll_back()
    assert variables == {}
    assert memo.repeat("g()", variables) is None
    assert memo.repeat("f()", variables) == RESULT
    assert variables == {VARIABLES: TRUE}
    assert journal.generation == reached
    journal.roll_back()
    assert variables == {}


def test_what_calls_come_to_behind_a_rebinding_holds_for_the_next_module() -> None:
    journal = Journal()
    memo = Memo(journal)
    variables: dict[object, Value] = {}
    rebinding(memo, journal, variables)
    memo.enter_call("g()", PLACE)
    memo.remember_state("g()", RESULT, journal.mark(), variables)
    memo.leave_call("g()", PLACE)
    journal.roll_back()
    memo.begin()
    assert memo.recall("g()") is None
    assert memo.repeat("f()", variables) == RESULT
    assert memo.recall("g()") == RESULT
    journal.note_variable(variables, "other")
    assert memo.recall("g()") is None, "another change leads to another state"


def test_a_call_that_changes_more_than_variables_is_followed_each_time() -> None:
    journal = Journal()
    memo = Memo(journal)
    variables: dict[object, Value] = {}
    memo.enter_call("f()", PLACE)
    mark = journal.mark()
    journal.note(Mapping({}))
    journal.note_variable(variables, VARIABLES)
    memo.remember_state("f()", RESULT, mark, variables)
    memo.leave_call("f()", PLACE)
    journal.roll_back()
    assert memo.repeat("f()", variables) is None


def test_a_call_that_saw_what_its_module_has_bound_is_followed_each_time() -> None:
    journal = Journal()
    memo = Memo(journal)
    variables: dict[object, Value] = {}
    memo.enter_call("f()", PLACE)
    mark = journal.mark()
    journal.note_peculiar()
    journal.note_variable(variables, VARIABLES)
    variables[VARIABLES] = TRUE
    memo.remember_state("f()", RESULT, mark, variables)
    memo.leave_call("f()", PLACE)
    journal.roll_back()
    assert memo.repeat("f()", variables) is None


def test_going_back_to_a_mark_goes_back_to_its_state() -> None:
    journal = Journal()
    journal.note_entry({}, "a", None)
    mark = journal.mark()
    journal.note_entry({}, "b", None)
    assert journal.generation != mark.generation
    journal.forget(mark)
    assert journal.generation == mark.generation
    assert journal.outstanding == 1


def test_what_was_changed_before_others_could_see_it_stands_once_it_is_kept() -> None:
    journal = Journal()
    own, common = Mapping({}), Mapping({})
    mark = journal.mark()
    for table in (own, common):
        journal.note_entry(table.items, Const("a"), table)
        table.items[Const("a")] = TRUE
    common.shared = True
    journal.keep(mark)
    journal.note_entry(common.items, Const("a"), common)
    common.items[Const("a")] = FALSE
    journal.roll_back()
    assert common.items == {Const("a"): TRUE}, "as it was when others could see it first"
    assert own.items == {}, "only the one that made it has seen it"


def test_what_needed_nothing_unfinished_is_remembered_inside_what_did() -> None:
    memo = Memo(Journal())
    memo.enter_call("f()", PLACE)
    assert not memo.enter_call("f()", PLACE)
    follow(memo, "g()", ("module", 2))
    assert memo.recall("g()") == RESULT, "g did not ask for f"
    memo.remember("f()", RESULT, 0, regardless=False)
    assert not memo.settled, "what f itself asked for is still known"


def test_what_is_worked_out_apart_knows_whether_it_needed_something_unfinished() -> None:
    memo = Memo(Journal())
    memo.enter()
    memo.need_unfinished(1)
    memo.begin_apart()
    assert memo.end_apart()
    memo.begin_apart()
    memo.need_unfinished(0)
    assert not memo.end_apart()
    memo.leave()
    assert not memo.settled
