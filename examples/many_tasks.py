"""A hundred tasks share one policy; an attempt that hangs is cut off and tried again."""

import asyncio
import random

from forbear import Exponential, retry

chance = random.Random(7)
calls: list[int] = []


@retry(on=ConnectionError, attempts=10, attempt_timeout=0.05, backoff=Exponential(0.01, cap=0.1))
async def job(n: int) -> int:
    calls.append(n)
    luck = chance.random()
    if luck < 0.3:
        raise ConnectionError("refused")
    if luck < 0.4:
        await asyncio.sleep(60)  # a connection that never answers
    return n


async def main() -> None:
    results = await asyncio.gather(*(job(n) for n in range(100)))
    print(f"{len(results)} of 100 jobs done in {len(calls)} calls")


asyncio.run(main())
