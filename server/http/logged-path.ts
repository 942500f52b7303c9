/** The longest path in the log. The paths of this server are shorter. */
const maxLength = 512;

/**
 * The path of a URL without its query, cut before the redactor reads it. The redactor knows the sign at the end, and takes
 * out a secret or an address that the cut has halved.
 */
export function loggedPath(url: string): string {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  return path.length > maxLength ? `${path.slice(0, maxLength)}[…]` : path;
}
