"""Put the page of the club up on a server."""

import argparse
import asyncio
import os
import shutil
from datetime import datetime

PORT = 30520


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent_workspace", required=False)
    parser.add_argument("--launch_time", required=False)
    args = parser.parse_args()
    print("launched", datetime.strptime(args.launch_time, "%Y-%m-%d %H:%M:%S"))
    task = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    place = os.path.join(task, "tmp", "pages")
    shutil.copytree(os.path.join(task, "files", "pages"), place)
    await asyncio.create_subprocess_shell(
        f"nohup python3 -m http.server {PORT} --directory {place} > {place}/server.log 2>&1 &"
    )


if __name__ == "__main__":
    asyncio.run(main())
