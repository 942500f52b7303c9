import type { FastifyReply } from 'fastify';
import { Html } from '../../text/html.ts';
import { copyScriptPath, iconPath, stylesheetPath } from './assets.ts';
import { loadTemplate } from './template.ts';

/*
 * How a page is made:
 *
 * 1. Its template is an .eta file in server/, beside the code that fills it. `<%= it.title %>` writes a value
 *    escaped; attributes are always in double quotation marks. `<%~ include('/pages/shell/parts/…', { … }) %>` is the only raw
 *    output. A template gets finished values and decides nothing but how they look.
 * 2. `const boardPage = definePage<BoardPageData>('pages/public-board/board')` reads the template and compiles it once, when
 *    the server starts, and answers a function: `boardPage(frame, data)`. The frame is what the layout shows around it.
 * 3. A route answers with `sendPage(reply, boardPage(frame, data))`, and refuses by throwing a DomainError, whose page
 *    is in error-page.ts. Routes are in a plugin that server/app.ts gives to pages.serve, which puts every page under the
 *    strict headers. A plugin with forms registers @fastify/formbody for itself: without it no body is accepted.
 * 4. There are no scripts and no styles in a page: the content security policy refuses them. What it looks like is in
 *    style.css, by the classes that are there already where possible. A page that shows what is to be copied says so to
 *    definePage: copy.js gives it its buttons, and the policy of that page alone lets it.
 */

/** What the layout shows around a page. */
export interface Frame {
  /** In the tab; the page itself has its own h1. */
  title: string;
  /** What the header calls the place, and where that leads; by default the name of the product, which leads nowhere. */
  site?: Link | undefined;
  navigation?: readonly NavigationLink[] | undefined;
  /** What stands at the end of the header, such as a form to sign out: another template's output. */
  actions?: Html | undefined;
  /** For pages that search engines may show: where they find the page, in full. Others they are asked to leave out. */
  canonicalUrl?: string | undefined;
}

export interface Link {
  label: string;
  href: string;
}

export interface NavigationLink extends Link {
  isCurrent?: boolean;
}

/** Compiles the template of a page, and answers what makes the whole document from it. */
export function definePage<Data extends object>(
  name: string,
  { hasCopyButtons = false }: { hasCopyButtons?: boolean } = {},
): (frame: Frame, data: Data) => Html {
  const renderContent = loadTemplate<Data>(name);
  const assets = { stylesheetPath, iconPath, ...(hasCopyButtons ? { copyScriptPath } : {}) };
  return (frame, data) => {
    const layout = { ...frame, ...assets, site: frame.site ?? product, content: renderContent(data) };
    const document = renderLayout(layout);
    return hasCopyButtons ? new PageToCopyFrom(document.text) : document;
  };
}

/** A document that has the one script that there is. */
class PageToCopyFrom extends Html {}

/** Answers with a page. Nobody keeps it, unless its route says otherwise with config.isPublicPage. */
export function sendPage(reply: FastifyReply, page: Html, status = reply.statusCode) {
  reply.hasCopyButtons = page instanceof PageToCopyFrom;
  return reply.status(status).type('text/html; charset=utf-8').send(page.text);
}

const product = { label: 'Idea-Board' };

interface LayoutData extends Omit<Frame, 'site'> {
  site: { label: string; href?: string };
  stylesheetPath: string;
  iconPath: string;
  copyScriptPath?: string;
  content: Html;
}

const renderLayout = loadTemplate<LayoutData>('pages/shell/layout');
