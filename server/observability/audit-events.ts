/** What an event of the audit log tells, beside its name and time. Addresses are masked wherever they stand. */
export interface AuditEvents {
  /** GET /ready answered 503: which checks failed (Operations probes). */
  'readiness.not_ready': { failed: readonly string[] };
}

export type AuditEvent = keyof AuditEvents;
