"""MLflow's own server in one process: `serve.py STORE PORT ARTIFACTS`. Prints its port; ends when its standard input does."""

import os
import socket
import sys
import threading

threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
store, port, artifacts = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.environ.update(
    _MLFLOW_SERVER_FILE_STORE=store,
    _MLFLOW_SERVER_ARTIFACT_ROOT=artifacts,
    MLFLOW_DISABLE_TELEMETRY="true",
    DO_NOT_TRACK="true",
)

from mlflow.server import app, handlers  # noqa: E402

handlers._get_tracking_store(store, artifacts)
place = socket.socket()
place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
place.bind(("127.0.0.1", port))
place.listen(128)
print("PORT", place.getsockname()[1], flush=True)
try:
    import uvicorn
    from mlflow.server.fastapi_app import app as whole
except ImportError:  # servers before 3 have none
    from werkzeug.serving import make_server

    make_server("127.0.0.1", 0, app, threaded=True, fd=place.fileno()).serve_forever()
else:
    uvicorn.Server(uvicorn.Config(whole, log_level="warning")).run(sockets=[place])
