"""The command `ferry`."""

import argparse
import json
import os
import sys

from ferry.client import FerryClient, FerryError


def build_parser() -> argparse.ArgumentParser:
    """Every subcommand and option."""
    parser = argparse.ArgumentParser(prog="ferry", description="Hand in jobs and look after them.")
    parser.add_argument("--server", default=os.environ.get("FERRY_SERVER", "http://localhost:7070"))
    parser.add_argument("--token", default=os.environ.get("FERRY_TOKEN", ""))
    commands = parser.add_subparsers(dest="command", required=True)

    submit = commands.add_parser("submit", help="hand in a job")
    submit.add_argument("kind")
    submit.add_argument("payload", type=json.loads)

    status = commands.add_parser("status", help="say where a job stands")
    status.add_argument("job", type=int)

    wait = commands.add_parser("wait", help="wait until a job is done")
    wait.add_argument("job", type=int)
    wait.add_argument("--timeout", type=float, default=60.0)
    return parser


def run(arguments: argparse.Namespace, client: FerryClient) -> str:
    """Does what the arguments say and gives what to print."""
    match arguments.command:
        case "submit":
            return str(client.submit(arguments.kind, arguments.payload))
        case "status":
            return client.status(arguments.job)
        case "wait":
            return client.wait(arguments.job, arguments.timeout)
    raise AssertionError(arguments.command)


def main() -> int:
    arguments = build_parser().parse_args()
    try:
        print(run(arguments, FerryClient(arguments.server, arguments.token)))
    except FerryError as error:
        print(f"ferry: {error}", file=sys.stderr)
        return 1
    return 0
