import type { FastifyReply } from 'fastify';
import { escapeHtml, Html } from '../../text/html.ts';
import { currentLanguage, type Language } from '../../text/language.ts';
import { iconPath, type Script, stylesheetPath } from './assets.ts';
import { loadTemplate } from './template.ts';

/*
 * How a page is made:
 *
 * 1. Its template is an .eta file in server/, beside the code that fills it. `<%= it.title %>` escapes a value.
 *    Attributes are always in double quotation marks. `<%~ include('/pages/shell/parts/…', { … }) %>` is the only raw
 *    output. A template gets finished values and only decides how they look. Its texts come from the catalogue:
 *    `<%= t('shell.next_page') %>`. See server/text/catalogue.ts.
 * 2. `const boardPage = definePage<BoardPageData>('pages/boards/board')` compiles the template when the server
 *    starts. It returns a function: `boardPage(frame, data)`. The frame is the content of the layout around the page.
 * 3. A route answers with `sendPage(reply, boardPage(frame, data))`, or throws a DomainError. error-page.ts turns the
 *    error into a page. Routes are in a plugin that server/app.ts passes to pages.serve, which adds the strict headers.
 *    A plugin with forms registers @fastify/formbody itself. Other plugins accept no body.
 * 4. The content security policy forbids inline scripts and styles. Use the classes of style.css. A page that names a
 *    script of assets.ts loads it, and the policy of that page allows it.
 */

export interface Frame {
  /** The title of the browser's tab. The page itself has its own heading. */
  title: string;
  /** The name in the header of the page, with its link. The default is the product's name without a link. */
  site?: Link | undefined;
  navigation?: readonly NavigationLink[] | undefined;
  /** The output of another template for the end of the header, such as a sign-out form. */
  actions?: Html | undefined;
  /** The Atom feed of the page. Links in the head and the footer of the page lead to this feed. */
  feed?: Link | undefined;
  /**
   * The full URL of a page that search engines may index. Without this URL, the page asks search engines not to index
   * it.
   */
  canonicalUrl?: string | undefined;
  /**
   * The preview of the page in search results, chats and social networks. Only a page with a canonicalUrl has a
   * preview.
   */
  preview?: { type: 'website' | 'article'; siteName: string; description: string } | undefined;
  /** A URL on another server that the browser opens immediately. The page also has a link to this URL. */
  refresh?: string | undefined;
  /** The session's form_token, which every POST form of the page sends. */
  formToken?: string;
  /** The script of the page. The page also works without this script. */
  script?: Script | undefined;
  /**
   * The path of the board, if another website shows the page in a frame. Such a page has no site header, and its links
   * to other paths open in a new tab.
   */
  embeddedAt?: string | undefined;
}

export interface Link {
  label: string;
  href: string;
}

export interface NavigationLink extends Link {
  isCurrent?: boolean;
}

/** Compiles the template of a page. Returns a function that renders the whole HTML document. */
export function definePage<Data extends object = object>(
  name: string,
  { script: ownScript }: { script?: Script | undefined } = {},
): (frame: Frame, data: Data) => Html {
  const renderContent = loadTemplate<Data>(name);
  return (frame, data) => {
    const { script = ownScript } = frame;
    const layout = {
      ...frame,
      refresh: frame.refresh && `0; url=${frame.refresh}`,
      language: currentLanguage(),
      stylesheetPath,
      iconPath,
      script,
      site: frame.site ?? product,
      content: renderContent(data),
    };
    const document = openInNewTabs(addFormToken(renderLayout(layout), frame.formToken), frame.embeddedAt);
    return script ? new PageWithScript(document.text, script) : document;
  };
}

/**
 * Adds the form_token to every POST form of a document. Finds the forms by the text of their tags: users cannot write
 * such text into a page, because the server escapes it.
 */
function addFormToken(document: Html, formToken: string | undefined): Html {
  if (formToken === undefined) return document;
  const end = `<input type="hidden" name="form_token" value="${escapeHtml(formToken)}"></form>`;
  // Splits the text, because a regular expression from the start to the end of a form is slow.
  const [start, ...forms] = document.text.split('<form method="post"');
  return new Html([start, ...forms.map(form => form.replace('</form>', () => end))].join('<form method="post"'));
}

/**
 * Makes the links of an embedded page open in a new tab if they lead to a page outside the board. A page outside the
 * board refuses to be in a frame. Only our templates contain links, and their attributes are in double quotation marks.
 */
function openInNewTabs(document: Html, embeddedAt: string | undefined): Html {
  if (embeddedAt === undefined) return document;
  const staysInside = (href: string) =>
    href.startsWith('#') || (href.startsWith(embeddedAt) && /^(?:[/?#]|$)/.test(href.slice(embeddedAt.length)));
  const text = document.text.replace(
    /<a (?=[^>]*?href="([^"]*)")([^>]*)>/g,
    (link, href: string, attributes: string) => {
      if (staysInside(href)) return link;
      const rel = attributes.includes('rel="') ? '' : ' rel="noopener"';
      return `<a ${attributes} target="_blank"${rel}>`;
    },
  );
  return new Html(text);
}

/** A document together with the script that its page loads. */
class PageWithScript extends Html {
  readonly script: Script;

  constructor(text: string, script: Script) {
    super(text);
    this.script = script;
  }
}

/** Sends a page. Caches must not store the page, unless its route has config.isPublicPage. */
export function sendPage(reply: FastifyReply, page: Html, status = reply.statusCode) {
  reply.pageScript = page instanceof PageWithScript ? page.script : null;
  reply.header('Content-Language', currentLanguage());
  return reply.status(status).type('text/html; charset=utf-8').send(page.text);
}

const product = { label: 'Idea-Board' };

interface LayoutData extends Omit<Frame, 'site'> {
  language: Language;
  site: { label: string; href?: string };
  stylesheetPath: string;
  iconPath: string;
  content: Html;
}

const renderLayout = loadTemplate<LayoutData>('pages/shell/layout');
