/** Where to go on after signing in: a page of the admin area, and nothing else, whatever a link asks for. */
export function safeNextPath(text: string): string {
  // A base that no address names: what leads to another host is told by it.
  const base = 'http://admin.invalid';
  const url = URL.parse(text, base);
  if (!url || url.origin !== base || url.username !== '' || url.password !== '') return home;
  const isPage = url.pathname === home || url.pathname.startsWith(`${home}/`);
  return isPage && !url.pathname.startsWith('/admin/sign-in') ? `${url.pathname}${url.search}` : home;
}

const home = '/admin';
