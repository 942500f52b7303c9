/** Matches the name and the version of the SDK in a User-Agent. */
const sdkProduct = /\bidea-board-client\/\d{1,4}\.\d{1,4}\.\d{1,4}\b/;

/** Returns the name and the version of the SDK, such as `idea-board-client/1.4.0`. Returns undefined for other clients. */
export function sdkProductOf(userAgent: string | undefined): string | undefined {
  return sdkProduct.exec(userAgent ?? '')?.[0];
}
