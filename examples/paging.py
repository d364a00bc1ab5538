"""A listing of many pages: each page has its own attempts, and no item comes twice."""

from collections.abc import Iterator

from forbear import retry

PAGES = {"p1": ([1, 2, 3], "p2"), "p2": ([4, 5, 6], "p3"), "p3": ([7], "")}
failures = {"p2": 2, "p3": 1}
calls: list[str] = []


@retry(on=ConnectionError, attempts=4, backoff=0.01)
def fetch(page: str) -> tuple[list[int], str]:
    calls.append(page)
    if failures.get(page, 0):
        failures[page] -= 1
        raise ConnectionError(f"lost page {page}")
    return PAGES[page]


def items() -> Iterator[int]:
    page = "p1"
    while page:
        found, page = fetch(page)
        yield from found


print(list(items()), f"in {len(calls)} calls for {len(PAGES)} pages")
