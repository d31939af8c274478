"""FerryClient against a server that is a list of answers."""

import pytest

from ferry import FerryClient, FerryError, RateLimited


class Scripted(FerryClient):
    """A FerryClient whose server answers from a list."""

    def __init__(self, answers):
        super().__init__("http://nowhere", "token")
        self.answers = list(answers)

    def _once(self, method, path, body):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_submit_gives_the_number():
    client = Scripted([{"id": 7}])
    assert client.submit("mail", {}) == 7


def test_a_rate_limited_client_comes_back():
    client = Scripted([RateLimited(0.0), RateLimited(0.0), {"id": 8}])
    assert client.submit("mail", {}) == 8


def test_a_rate_limited_client_gives_up():
    client = Scripted([RateLimited(0.0)] * 3)
    with pytest.raises(RateLimited, match="too many requests"):
        client.submit("mail", {})


def test_wait_ends_with_the_job():
    client = Scripted([{"status": "waiting"}, {"status": "leased"}, {"status": "done"}])
    assert client.wait(7, every=0.0) == "done"


def test_wait_times_out():
    client = Scripted([{"status": "leased"}] * 100)
    with pytest.raises(FerryError, match="still leased"):
        client.wait(7, timeout=0.0, every=0.0)
