"""A listing of many pages: each page has its own attempts, and no item comes twice."""

from forbear import retry

PAGES = {"": ([1, 2, 3], "p2"), "p2": ([4, 5, 6], "p3"), "p3": ([7], "")}
failures = {"p2": 2, "p3": 1}
calls = 0


@retry(on=ConnectionError, attempts=4, backoff=0.01)
def fetch(page):
    global calls
    calls += 1
    if failures.get(page, 0):
        failures[page] -= 1
        raise ConnectionError(f"lost page {page}")
    return PAGES[page]


def items():
    page = ""
    while True:
        found, page = fetch(page)
        yield from found
        if not page:
            return


print(list(items()), f"in {calls} calls for {len(PAGES)} pages")
