/** What is counted of events of one kind. */
interface Repeats<Event> {
  event: Event;
  count: number;
}

/** More kinds in a window than this are counted together: what an attacker makes up cannot fill a disk or the memory. */
const maxKinds = 100;

/**
 * Lets the first event of each kind pass in a window of time, and counts the others: they are told of when the window
 * ends. A window begins with its first event, so that a quiet server has none.
 */
export class RepeatedEvents<Event> {
  readonly #windowMs: number;
  readonly #tell: (event: Event, count: number) => void;
  readonly #tellOthers: (count: number) => void;
  readonly #kinds = new Map<string, Repeats<Event>>();
  #others = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(windowMs: number, tell: (event: Event, count: number) => void, tellOthers: (count: number) => void) {
    this.#windowMs = windowMs;
    this.#tell = tell;
    this.#tellOthers = tellOthers;
  }

  /** Whether an event is the first of its kind, and so to be told now. */
  isFirst(kind: string, event: Event): boolean {
    this.#timer ??= setTimeout(() => this.endWindow(), this.#windowMs).unref();
    const known = this.#kinds.get(kind);
    if (known) known.count += 1;
    else if (this.#kinds.size < maxKinds) this.#kinds.set(kind, { event, count: 0 });
    else this.#others += 1;
    return known === undefined && this.#kinds.has(kind);
  }

  /** Tells what was counted. */
  endWindow() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const { event, count } of this.#kinds.values()) if (count > 0) this.#tell(event, count);
    if (this.#others > 0) this.#tellOthers(this.#others);
    this.#kinds.clear();
    this.#others = 0;
  }
}
