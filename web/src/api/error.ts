// An error of the API, of the network, or of the page itself, with what to do about it.

/** An error with a message, a stable kind and a hint; `status` is 0 if no response arrived. */
export class ApiError extends Error {
  readonly status: number;
  readonly kind: string;
  readonly hint: string;
  /** What the body of the response says besides the message, such as a merge's conflicts. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    { status = 0, kind = "", hint = "", details = {} }: Partial<Omit<ApiError, keyof Error>> = {},
  ) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.kind = kind;
    this.hint = hint;
    this.details = details;
  }

  /** Whether the session has ended; a missing permission has the same status in lakeFS's API. */
  get isSignedOut(): boolean {
    return this.status === 401 && this.kind !== "insufficient_permissions";
  }

  /** Whether the server was not reached or is busy, so that the same request may succeed soon. */
  get isTemporary(): boolean {
    return this.kind === UNREACHABLE || this.status === 408 || this.status === 429 || this.status >= 502;
  }

  /** Whether the request may have been performed although no response of the server arrived. */
  get isUnanswered(): boolean {
    return this.kind === UNREACHABLE || this.status === 502 || this.status === 504;
  }

  /** Whether a person may succeed by trying again: not where something is missing, forbidden or wrong. */
  get mayPass(): boolean {
    return this.isTemporary || this.status === 500;
  }
}

const UNREACHABLE = "unreachable";
const UNREACHABLE_HINT = "Check the network and that the server runs, then try again.";

/** Returns the error of a response without success. */
export async function errorFromResponse(response: Response): Promise<ApiError> {
  return errorFromText(response.status, (name) => response.headers.get(name), await response.text());
}

/** Returns the error of a response by its status, headers and body. */
export function errorFromText(
  status: number,
  header: (name: string) => string | null,
  body: string,
): ApiError {
  let details: Record<string, unknown> = {};
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === "object" && value !== null) details = value as Record<string, unknown>;
  } catch {
    // a proxy's page, say: the status has to do
  }
  const message = typeof details.message === "string" ? details.message : `The server responded ${status}.`;
  return new ApiError(message, {
    status,
    kind: header("X-Anabranch-Kind") ?? "",
    hint: header("X-Anabranch-Hint") ?? "",
    details,
  });
}

/** Returns the error of a request that got no response. */
export function unreachable(): ApiError {
  return new ApiError("The server does not respond.", { kind: UNREACHABLE, hint: UNREACHABLE_HINT });
}

/** Returns the error of a page whose code did not arrive. */
export function notLoaded(): ApiError {
  return new ApiError("The page could not be loaded.", { kind: UNREACHABLE, hint: UNREACHABLE_HINT });
}

/** Returns any thrown value as an error that can be shown. */
export function toApiError(value: unknown): ApiError {
  if (value instanceof ApiError) return value;
  return new ApiError(value instanceof Error ? value.message : String(value), { kind: "page_error" });
}

/** Whether a thrown value says that the caller itself ended a request. */
export function isAbort(value: unknown): boolean {
  return value instanceof DOMException && value.name === "AbortError";
}
