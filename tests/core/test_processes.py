"""Forks and worker processes: policies travel, marks come back, and a child inherits no wait of its parent's."""

from __future__ import annotations

import pytest

from processes import output_of

# What forks here has no lock of another thread's to fear; Python can't know that and warns (3.12 and later).
FORKING = """
    import os, random, sys, threading, time, warnings
    import forbear
    from forbear import retry

    warnings.simplefilter("ignore", DeprecationWarning)

    def fail():
        raise OSError

    def reason_of(policy):
        try:
            policy.call(fail)
        except (OSError, forbear.Cancelled) as error:
            return forbear.reason(error)

    def in_a_child(work):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.write(write, repr(work()).encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        return os.read(read, 10000).decode()

    def waiting_thread():
        told = []
        thread = threading.Thread(target=lambda: told.append(reason_of(retry(on=OSError, backoff=3600))))
        thread.start()
        while not forbear._clock.waiting:
            time.sleep(0.001)
        return thread, told
"""


def forking(program: str) -> list[str]:
    """Run a program that has the names above."""
    return output_of(FORKING + program)


def test_a_forked_child_waits_as_its_parent_does() -> None:
    """Waits, limits and scopes work in it; a scope around the fork binds it too."""
    assert ["('attempts', 'timeout', True)"] == forking("""
    with forbear.scope(timeout=3600):
        print(in_a_child(lambda: (
            reason_of(retry(on=OSError, attempts=3, backoff=0.01)),
            reason_of(retry(on=OSError, attempts=None, backoff=0.01, total_timeout=0.025)),
            3000 < forbear.remaining() <= 3600,
        )))
    """)


def test_a_forked_child_inherits_no_wait() -> None:
    """The parent's thread that waits doesn't exist in it; what it cancels is its own."""
    assert ["(0, 'attempts')", "1", "['cancelled']"] == forking("""
    thread, told = waiting_thread()

    def work():
        waiting = len(forbear._clock.waiting)
        forbear.cancel_all("in the child")
        return waiting, reason_of(retry(on=OSError, attempts=3, backoff=0.01))

    print(in_a_child(work))
    print(len(forbear._clock.waiting))
    forbear.cancel_all("in the parent")
    thread.join()
    print(told)
    """)


def test_children_draw_other_delays() -> None:
    """Jitter parts processes too: a hundred forked workers don't come back at one instant."""
    first, second, parents = forking("""
    def draw():
        return list(forbear.Exponential(1.0, cap=None).take(5).delays())

    draw()
    print(in_a_child(draw))
    print(in_a_child(draw))
    print(draw())
    """)
    assert 3 == len({first, second, parents})


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_worker_processes_retry_and_their_marks_come_back(method: str) -> None:
    """A decorated function is sent by name; its error says in the parent that it was retried to the end."""
    program = f"""
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        import workers
        workers.main("{method}")
    """
    assert ["1 nested 1 forbear: outer gave up after 1 attempt", "[0, 2]", "True"] == output_of(
        program
    )


def test_a_marked_error_pickles_for_who_has_no_forbear() -> None:
    """The mark is plain data: an error may come to a process that has never heard of forbear."""
    (hexed,) = output_of("""
        import pickle, forbear
        try:
            forbear.retry(on=ZeroDivisionError, attempts=2, backoff=0).call(divmod, 1, 0)
        except ZeroDivisionError as error:
            print(pickle.dumps(error).hex())
    """)
    name, has, note = output_of(f"""
        import pickle, sys
        sys.modules["forbear"] = None
        error = pickle.loads(bytes.fromhex("{hexed}"))
        print(type(error).__name__)
        print(hasattr(error, "__forbear__"))
        print(error.__notes__[0].splitlines()[0].split(" in ")[0])
    """)
    assert ("ZeroDivisionError", "True") == (name, has)
    assert "forbear: divmod gave up after 2 attempts" == note
