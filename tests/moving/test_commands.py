"""Commands get names that people recognise."""

import pytest

from dueline.moving.commands import command_name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/local/bin/backup.sh --full", "backup"),
        ("cd /srv && nice -n 10 python3 jobs/report.py -v", "report"),
        ("LANG=C sudo -u www-data /opt/clean", "clean"),
        ("python3.11 -m shop.jobs", "shop.jobs"),
        ("test -x /usr/sbin/anacron || run-parts /etc/cron.daily", "run-parts"),
        ("flock -n /tmp/close.lock /opt/close.py", "close"),
        ("sleep 30; curl -s https://example.com", "curl"),
        ("echo 'unbalanced", "echo"),
        ("ÄÖÜ", "command"),
        ("", "command"),
    ],
)
def test_a_name(command: str, name: str) -> None:
    assert command_name(command) == name
