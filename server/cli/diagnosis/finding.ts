/** One thing that was looked at: how it is, and what to do where that is not well. */
export interface Finding {
  level: 'ok' | 'warning' | 'error';
  what: string;
  remedy: string | null;
}

export function ok(what: string): Finding {
  return { level: 'ok', what, remedy: null };
}

/** Something that will not do for long, or that is perhaps meant. */
export function warning(what: string, remedy: string): Finding {
  return { level: 'warning', what, remedy };
}

/** Something with which the server does not work, or not rightly. */
export function error(what: string, remedy: string): Finding {
  return { level: 'error', what, remedy };
}
