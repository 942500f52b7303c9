import { AsyncLocalStorage } from 'node:async_hooks';

export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

export interface SpanOptions {
  kind?: 'server' | 'client' | 'producer' | 'consumer';
  /** Numbers and names that the code defines. Never text of users, e-mail addresses, secrets or values of statements. */
  attributes?: SpanAttributes;
  /** The span of another process that caused this span: a `traceparent` of W3C. An invalid value has no effect. */
  parent?: string | undefined;
}

/** A part of a trace: one request, statement, job or delivery with its start and its end. */
export interface Span {
  readonly traceId: string;
  /** Names this span in the format of W3C, so that another process can continue the trace. */
  readonly traceparent: string;
  /**
   * Starts a child span of this span. If `parent` belongs to another trace, the new span continues that trace instead,
   * and has a link to this span.
   */
  start(name: string, options?: SpanOptions): Span;
  set(attributes: SpanAttributes): void;
  /** Ends the span. `errorType` is the class or code of an error: its message may contain text of users. */
  end(errorType?: string): void;
}

/** Starts the first span of this process in a trace. If tracing is off, ServerDependencies contains no Tracing. */
export interface Tracing {
  start(name: string, options?: SpanOptions): Span;
  /** Sends the ended spans, for a limited time. */
  close(): Promise<void>;
}

const storage = new AsyncLocalStorage<Span>();

/** Returns the span that the current code belongs to. Undefined if tracing is off. */
export function activeSpan(): Span | undefined {
  return storage.getStore();
}

export function runInSpan<T>(span: Span | undefined, work: () => T): T {
  return span ? storage.run(span, work) : work();
}

/** Ends a span when its work has ended. */
export async function endAfter<T>(span: Span, work: Promise<T>): Promise<T> {
  try {
    const result = await work;
    span.end();
    return result;
  } catch (error) {
    span.end(errorTypeOf(error));
    throw error;
  }
}

/** Returns the code of an error, such as the SQLSTATE, or else the name of its class. */
function errorTypeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return ([code, name].find(one => typeof one === 'string') as string | undefined) ?? 'unknown';
}
