"""References at a moment through boto3: read and listed, and not written."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError


@pytest.mark.sample(1)
@pytest.mark.parametrize("moment", ["now", "1 second ago", "1.second.ago"])
def test_objects_are_read_and_listed_as_they_were(s3, bucket, api, eventually, moment):
    s3.put_object(Bucket=bucket, Key="main/a b.txt", Body=b"committed")
    made = api.post(f"/repositories/{bucket}/branches/main/commits", json={"message": "m"})
    assert made.status_code == 201
    s3.put_object(Bucket=bucket, Key="main/a b.txt", Body=b"staged")
    place = f"main@{{{moment}}}"

    def is_there():
        try:
            listed = s3.list_objects_v2(Bucket=bucket, Prefix=f"{place}/")
        except ClientError:
            return False  # the repository is not a second old
        return [each["Key"] for each in listed.get("Contents", [])] == [f"{place}/a b.txt"]

    eventually(is_there)
    found = s3.get_object(Bucket=bucket, Key=f"{place}/a b.txt")
    assert found["Body"].read() == b"committed"


def test_a_moment_is_not_written_to(s3, bucket):
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="main@{now}/a", Body=b"x")
    assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] in (400, 404)
    with pytest.raises(ClientError):
        s3.get_object(Bucket=bucket, Key="main@{last friday}/a")
