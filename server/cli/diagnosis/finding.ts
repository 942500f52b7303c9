/** The result of one check. A warning or an error has a remedy. */
export interface Finding {
  level: 'ok' | 'warning' | 'error';
  what: string;
  remedy: string | null;
}

export function ok(what: string): Finding {
  return { level: 'ok', what, remedy: null };
}

/** A problem that will grow, or that may be intended. */
export function warning(what: string, remedy: string): Finding {
  return { level: 'warning', what, remedy };
}

/** A problem that keeps the server from working correctly. */
export function error(what: string, remedy: string): Finding {
  return { level: 'error', what, remedy };
}
