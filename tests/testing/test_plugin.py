"""The pytest plugin: whoever has installed forbear can ask for `forbear_time`."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


def test_the_fixture_is_virtual_time_everywhere(pytester: pytest.Pytester) -> None:
    """In the test's own thread, in others, on asyncio and on trio; each test has a clock of its own."""
    pytester.makepyfile(
        """
        import asyncio, threading
        import pytest, trio
        from forbear import retry

        policy = retry(on=OSError, attempts=3, backoff=3600)

        def fail():
            raise OSError

        async def afail():
            raise OSError

        def test_plain(forbear_time):
            with pytest.raises(OSError):
                policy.call(fail)
            assert forbear_time.waits == [3600, 3600]
            assert forbear_time.now() == 7200

        def test_threads(forbear_time):
            def work():
                with pytest.raises(OSError):
                    policy.call(fail)

            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            assert forbear_time.waits == [3600, 3600]

        @pytest.mark.parametrize("run", [lambda fn: asyncio.run(fn()), trio.run], ids=["asyncio", "trio"])
        def test_loops(forbear_time, run):
            with pytest.raises(OSError):
                run(policy(afail))
            assert forbear_time.waits == [3600, 3600]

        def test_without():
            import forbear
            assert forbear._clock.everywhere is None
        """
    )
    pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=5)


def test_a_test_that_fails_gives_the_clock_back(pytester: pytest.Pytester) -> None:
    """The next one has real time, whatever happened before."""
    pytester.makepyfile(
        """
        import forbear

        def test_fails(forbear_time):
            assert False

        def test_real():
            assert forbear._clock.everywhere is None
        """
    )
    pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=1, failed=1)


def test_the_fixture_is_documented(pytester: pytest.Pytester) -> None:
    """`pytest --fixtures` says what it is."""
    output = pytester.runpytest_inprocess("--fixtures", "-p", "no:cacheprovider").stdout.str()
    assert "forbear_time" in output
    assert "Virtual time" in output
