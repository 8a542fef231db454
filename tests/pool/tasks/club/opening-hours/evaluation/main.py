"""Are the opening hours of every day right?"""

from argparse import ArgumentParser

from .hours import hours

if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--agent_workspace")
    parser.add_argument("--groundtruth_workspace")
    parser.add_argument("--res_log_file")
    parser.add_argument("--launch_time")
    args = parser.parse_args()
    found, wanted = hours(args.agent_workspace), hours(args.groundtruth_workspace)
    wrong = [day for day in wanted if found.get(day) != wanted[day]]
    print("wrong: " + ", ".join(wrong) if wrong else "all right")
    raise SystemExit(1 if wrong else 0)
