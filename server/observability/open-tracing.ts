import { readFile } from 'node:fs/promises';
import type { Attributes, Context, Span as OtelSpan, SpanContext } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { inTimeOr } from '../database/in-time.ts';
import type { Span, SpanAttributes, SpanOptions, Tracing } from './active-span.ts';

type TracingConfig = Pick<
  Config,
  | 'OTEL_EXPORTER_OTLP_HEADERS'
  | 'OTEL_SERVICE_NAME'
  | 'OTEL_RESOURCE_ATTRIBUTES'
  | 'OTEL_TRACES_SAMPLER'
  | 'OTEL_TRACES_SAMPLER_ARG'
>;

export interface TracingOptions {
  /** The URL of the collector, without the path of the traces. */
  endpoint: string;
  config: TracingConfig;
  logger: Pick<Logger, 'warn'>;
  /** How long a stop waits for the collector. A collector that does not answer must not delay a stop. */
  flushMs?: number;
}

const packageFile = new URL('../../package.json', import.meta.url);

/** The limits of one span. Most statements are shorter than the maximum length of an attribute. */
const spanLimits = { attributeValueLengthLimit: 4_096, attributeCountLimit: 32, eventCountLimit: 8, linkCountLimit: 8 };

const defaultFlushMs = 2_000;

const warningIntervalMs = 60_000;

/**
 * Starts tracing. The spans leave the process in batches, in the background. If the collector is slow or unavailable,
 * the process drops spans and logs a warning at most once a minute. This function registers no global tracer, so Sentry
 * and extensions never add spans.
 */
export async function openTracing({
  endpoint,
  config,
  logger,
  flushMs = defaultFlushMs,
}: TracingOptions): Promise<Tracing> {
  // Loads these packages only on demand, because loading takes time and memory.
  const [api, { OTLPTraceExporter }, { resourceFromAttributes }, sdk] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace'),
  ]);
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } = api;
  const { version } = JSON.parse(await readFile(packageFile, 'utf8')) as { version: string };

  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, headers: config.OTEL_EXPORTER_OTLP_HEADERS });
  let warnedAt = Number.NEGATIVE_INFINITY;
  const exportBatch = exporter.export.bind(exporter);
  exporter.export = (spans, done) =>
    exportBatch(spans, result => {
      if (result.error && performance.now() - warnedAt > warningIntervalMs) {
        warnedAt = performance.now();
        logger.warn({ err: result.error }, 'spans could not be sent to the collector');
      }
      done(result);
    });

  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({
      'service.version': version,
      ...config.OTEL_RESOURCE_ATTRIBUTES,
      'service.name': config.OTEL_SERVICE_NAME ?? config.OTEL_RESOURCE_ATTRIBUTES['service.name'] ?? 'idea-board',
    }),
    sampler: buildSampler(),
    spanLimits,
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('idea-board', version);
  const kinds = {
    server: SpanKind.SERVER,
    client: SpanKind.CLIENT,
    producer: SpanKind.PRODUCER,
    consumer: SpanKind.CONSUMER,
  };

  function buildSampler() {
    const { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } = sdk;
    const name = config.OTEL_TRACES_SAMPLER;
    const root = name.endsWith('always_off')
      ? new AlwaysOffSampler()
      : name.endsWith('traceidratio')
        ? new TraceIdRatioBasedSampler(config.OTEL_TRACES_SAMPLER_ARG)
        : new AlwaysOnSampler();
    return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
  }

  function startIn(context: Context, name: string, options: SpanOptions, links: SpanContext[] = []): Span {
    const { kind, attributes = {} } = options;
    const span = tracer.startSpan(
      name,
      {
        ...(kind ? { kind: kinds[kind] } : {}),
        attributes: definedIn(attributes),
        links: links.map(linked => ({ context: linked })),
      },
      context,
    );
    return wrap(span, trace.setSpan(ROOT_CONTEXT, span));
  }

  function wrap(span: OtelSpan, context: Context): Span {
    const own = span.spanContext();
    return {
      traceId: own.traceId,
      get traceparent() {
        return `00-${own.traceId}-${own.spanId}-${own.traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`;
      },
      start(name, options = {}) {
        const parent = parseTraceparent(options.parent);
        if (!parent || parent.traceId === own.traceId) return startIn(context, name, options);
        return startIn(trace.setSpanContext(ROOT_CONTEXT, parent), name, options, [own]);
      },
      set: attributes => void span.setAttributes(definedIn(attributes)),
      end(errorType) {
        if (errorType !== undefined) {
          span.setAttribute('error.type', errorType);
          span.setStatus({ code: SpanStatusCode.ERROR });
        }
        span.end();
      },
    };
  }

  return {
    start(name, options = {}) {
      const parent = parseTraceparent(options.parent);
      return startIn(parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT, name, options);
    },
    close: () => inTimeOr(provider.shutdown(), flushMs, undefined),
  };
}

function definedIn(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined)) as Attributes;
}

/** The header `traceparent` of W3C. A version after 00 may add fields at the end. */
const traceparentForm = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Returns undefined for an invalid header. The trace of the request then begins in this server. */
function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const [, version, traceId, spanId, flags, rest] = traceparentForm.exec(text ?? '') ?? [];
  if (!traceId || !spanId || !flags || (version === '00' && rest !== undefined)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}
