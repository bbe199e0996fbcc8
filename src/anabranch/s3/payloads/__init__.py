"""Bodies of requests in every form that S3 knows: `payload` yields the bytes of the object."""
