"""What a SageMaker container asks of AWS: its secrets, and whether another attempt owns the run. boto3 is only used here."""

from __future__ import annotations

import os
import threading
import time

from .sagemaker_container import Container, Unfit, write_text


class RemoteFence:
    """The fence in the bucket, as far as this container may read it: a newer attempt may be running elsewhere."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._where = container.template["fence"]
        try:
            import boto3

            self._client = boto3.client("s3", region_name=container.template["region"])
        except Exception:  # no boto3 in the image, or no credentials: the name of the job still guards the run
            self._client = None

    def is_foreign(self) -> bool:
        try:
            answer = self._client.get_object(Bucket=self._where["bucket"], Key=self._where["key"]) if self._client else None
        except Exception:  # unreachable, or not allowed: no evidence
            return False
        return answer is not None and answer["Body"].read().decode().strip() != self._container.fence_token

    def watch(self) -> None:
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while self._client is not None:
            time.sleep(float(os.environ.get("UNDERSTUDY_FENCE_SECONDS", "60")))
            if self.is_foreign():
                write_text(self._container.fence, "another attempt owns this run")
                return


def fetch_secrets(names: dict[str, str], region: str) -> dict[str, str]:
    if not names:
        return {}
    try:
        import boto3
    except ImportError as error:
        raise Unfit("the job needs secrets, and the image has no boto3 to fetch them") from error
    client = boto3.client("secretsmanager", region_name=region)
    found = {}
    for name, arn in names.items():
        try:
            found[name] = client.get_secret_value(SecretId=arn)["SecretString"]
        except Exception as error:  # whatever it is, the job cannot run without it
            raise Unfit(f"the secret {name} could not be fetched: {type(error).__name__}: {error}") from error
    return found
