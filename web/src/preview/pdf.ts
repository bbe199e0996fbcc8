// PDF documents: pdf.js draws them, with a worker of this server. Scripts in them are not run.

import { GlobalWorkerOptions, getDocument, type PDFDocumentProxy } from "pdfjs-dist";
import worker from "pdfjs-dist/build/pdf.worker.min.mjs?url";
import { ApiError } from "$/api/error";

GlobalWorkerOptions.workerSrc = worker;

/** Returns the document in some bytes. Throws ApiError for those that are none. */
export async function openPdf(bytes: Uint8Array): Promise<PDFDocumentProxy> {
  try {
    return await getDocument({
      data: bytes,
      enableXfa: false,
      disableAutoFetch: true,
      stopAtErrors: false,
      verbosity: 0,
    }).promise;
  } catch (error) {
    throw new ApiError("The PDF document cannot be read.", {
      kind: "unreadable",
      hint: error instanceof Error ? error.message : "",
    });
  }
}
