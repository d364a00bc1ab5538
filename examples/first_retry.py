"""A call that fails twice and then succeeds, under a policy."""

import logging

from forbear import Exponential, retry

logging.basicConfig(format="%(levelname)s %(message)s")  # forbear writes one line a retry

answers = iter([ConnectionError("refused"), ConnectionError("reset by peer"), "sunny"])


@retry(on=ConnectionError, attempts=5, backoff=Exponential(base=0.05, cap=1.0))
def weather(city: str) -> str:
    answer = next(answers)
    if isinstance(answer, Exception):
        raise answer
    return f"{city}: {answer}"


print(weather("Oslo"))
