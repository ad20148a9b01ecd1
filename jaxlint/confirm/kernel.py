"""``python kernel.py NOTEBOOK``: runs a notebook by nbclient in an ipykernel of this Python.

Started by its path in the user's Python, where jaxlint need not be: it imports nothing of jaxlint, and nothing of
jaxlint imports it. The witness comes into the kernel through the environment, as into every other Python. What the
cells print and display is printed, but for the times that magics measure, which are no output of the program's: those
go to standard error. The notebook is not written. What ended the run early is told in the witness's folder of records.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat import NotebookNode

PLAN_VARIABLE = "JAXLINT_WITNESS"
# The time is kept by whoever started this: nbclient need not lose its patience on a busy machine.
PATIENCE = 3600
# The path of a socket must be shorter still.
LONG = 90
# What `%time` and `%timeit` tell.
MEASURED = re.compile(r"(?:CPU times|Wall time|Compiler|Parser) *: |The slowest run took |.* per loop \(mean ")
COLOURS = re.compile(r"\x1b\[[\d;]*m")


class _Specs(KernelSpecManager):
    """Whatever kernel a notebook names, it gets one of this Python."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(**get_kernel_dict())


class _Beside(LocalProvisioner):
    """Starts the kernel in the process group of this process: whoever ends that ends the kernel as well."""

    started: "subprocess.Popen[bytes] | None" = None

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        if sys.platform == "win32":
            return await super().launch_kernel(cmd, **kwargs)
        environment = {**kwargs["env"], "JPY_PARENT_PID": str(os.getpid())}
        # The kernel's own output is no cell's: it tells of troubles.
        self.process = self.started = subprocess.Popen(
            cmd, env=environment, cwd=kwargs.get("cwd"), stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno()
        )
        self.pid = self.process.pid
        return self.connection_info


class _Client(NotebookClient):
    """Prints what cells print and display, as it comes."""

    cell_number = 0
    line = ""

    def print(self, text: str) -> None:
        """Prints text line by line; the rest is the begin of the next line."""
        *lines, self.line = (self.line + text).split("\n")
        for line in lines:
            print(line, file=sys.stderr if MEASURED.match(line) else sys.stdout)

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> NotebookNode | None:
        self.cell_number = cell_index + 1
        content = msg["content"]
        match msg["msg_type"]:
            case "stream" if content["name"] == "stdout":
                self.print(content["text"])
            case "stream":
                print(content["text"], end="", file=sys.stderr)
            case "execute_result" | "display_data":
                self.print(content["data"].get("text/plain", "") + "\n")
            case "error":
                print(COLOURS.sub("", "\n".join(content["traceback"])), file=sys.stderr)
        return super().process_message(msg, cell, cell_index)


def main(path: str) -> int:
    """Runs the notebook; the exit status."""
    records = Path(json.loads(Path(os.environ[PLAN_VARIABLE]).read_text("utf-8"))["records"])
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    specs = _Specs()
    connection = str(records / "kernel.json")
    # Sockets in our own folder: nobody else can listen to them, and no port can be taken meanwhile.
    transport = "tcp" if sys.platform == "win32" or len(connection) > LONG else "ipc"
    manager = AsyncKernelManager(
        kernel_name="python3", kernel_spec_manager=specs, connection_file=connection, transport=transport
    )
    provisioner = _Beside(kernel_id="jaxlint", kernel_spec=specs.get_kernel_spec("python3"), parent=manager)
    manager.provisioner = provisioner
    client = _Client(
        notebook,
        km=manager,
        startup_timeout=PATIENCE,
        iopub_timeout=PATIENCE,
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": os.path.dirname(os.path.abspath(path))}},
    )
    status = 0
    try:
        client.execute(cleanup_kc=True)
    except CellExecutionError as error:
        told = {"crashed": error.ename, "cell": client.cell_number}
        (records / "cell.jsonl").write_text(json.dumps(told) + "\n", "utf-8")
        status = 1
    except (DeadKernelError, RuntimeError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        status = (provisioner.started.wait() if provisioner.started is not None else 0) or 1
    if client.line:
        client.print("\n")
    if status < 0:
        # As the kernel was killed, so is this.
        sys.stdout.flush()
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
