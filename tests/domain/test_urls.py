"""Target URLs read in one way, or not at all."""

import pytest

from dueline.domain.urls import authority, url_problem


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "HTTPS://Example.COM:8443/a/b?c=d&e=%20[1]",
        "http://localhost:8701/",
        "http://127.0.0.1/",
        "http://[::1]:80/",
        "http://[2001:db8::7]/",
        "http://my_service.internal/",
        "http://example.com./",
        "http://xn--bcher-kva.example/",
        "http://1password.com/",
        "http://example.com?q",
        "http://example.com:443/~user/'(x)*!,;:@&=+$/",
    ],
)
def test_a_good_url(url: str) -> None:
    assert url_problem(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "http:example.com",
        "//example.com/",
        " http://example.com/",
        "http://example.com /",
        "http://example.com/\n",
        "http://exam\tple.com/",
        "http://a@b/",
        "http://@b/",
        "http://b:/",
        "http://b:٣/",
        "http://b:+80/",
        "http://b:080000/",
        "http://-b/",
        "http://b-/",
        "http://.b/",
        "http://b%2ecom/",
        "http://" + "a" * 64 + ".com/",
        "http://" + "a." * 130 + "com/",
        "http://1.2.3/",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://0x7f.0.0.1/",
        "http://127.0.0.1./",
        "http://[::1]x/",
        "http://[]/",
        "http://[127.0.0.1]/",
        "http://[v1.x]/",
        "http://a[b]/",
        "http://a/{b}",
        "http://a/<b>",
    ],
)
def test_a_bad_url(url: str) -> None:
    assert url_problem(url)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://Example.com", "example.com"),
        ("https://a:8443/b", "a:8443"),
        ("http://[::1]:80?x", "[::1]:80"),
        ("http://{{tenant}}.b/c", "{{tenant}}.b"),
        ("nothing", ""),
    ],
)
def test_the_authority_of_a_url(url: str, host: str) -> None:
    assert authority(url) == host
