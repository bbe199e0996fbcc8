// Records of the audit log; which fields there are depends on the event.

/** A record. */
export interface AuditRecord {
  time: string;
  event: string;
  user?: string;
  action?: string;
  resource?: string;
  allowed?: boolean;
  status?: number;
  operation?: string;
  gateway?: string;
  source_ip?: string;
  reason?: string;
}

/** Returns when a record was written, in seconds since 1970. */
export function seconds({ time }: AuditRecord): number {
  return Date.parse(time) / 1000;
}
