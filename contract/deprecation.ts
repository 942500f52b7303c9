/**
 * The announcement that an operation will be removed. The operation stays in v1 of the API. Only a new version of the
 * API can remove the operation.
 */
export interface Deprecation {
  /** The day when clients should begin to use the replacement, such as `2026-11-23`. The day may be in the future. */
  since: string;
  /** The day when the server may stop serving the operation. Undefined if the day is not known yet. */
  sunset?: string;
  /** The URL of a page that describes how to replace the operation. */
  link: string;
}

/** Returns the response headers of a deprecated operation: Deprecation (RFC 9745), Sunset (RFC 8594) and Link. */
export function deprecationHeaders({ since, sunset, link }: Deprecation): Record<string, string> {
  return {
    Deprecation: `@${Date.parse(since) / 1000}`,
    ...(sunset === undefined ? {} : { Sunset: new Date(sunset).toUTCString() }),
    Link: `<${link}>; rel="deprecation"; type="text/html"`,
  };
}

/** Describes the deprecation of an operation in one or two sentences, for the description of its MCP tool. */
export function describeDeprecation({ since, sunset, link }: Deprecation): string {
  const end = sunset === undefined ? '' : `, and may be removed after ${sunset}`;
  return `Deprecated since ${since}${end}. See ${link}.`;
}
