import type { ChatMessage, Run } from './message.ts';

/**
 * A message for an incoming webhook of Microsoft Teams, made by Workflows: an Adaptive Card. Its text is in text runs,
 * where Markdown is not supported and so shown to the letter; a mention would need an entity, and there is none.
 */
export function renderForTeams({ sentence, quote, url }: ChatMessage) {
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            { type: 'RichTextBlock', inlines: sentence.map(renderTextRun) },
            ...(quote === undefined
              ? []
              : [{ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: literal(quote), italic: true }] }]),
          ],
          ...(url === undefined ? {} : { actions: [{ type: 'Action.OpenUrl', title: 'Open the idea', url }] }),
        },
      },
    ],
  };
}

function renderTextRun({ text, isStrong, url }: Run) {
  return {
    type: 'TextRun',
    text: literal(text),
    ...(isStrong ? { weight: 'Bolder' } : {}),
    ...(url === undefined ? {} : { selectAction: { type: 'Action.OpenUrl', url } }),
  };
}

/** A card computes dates where it reads {{DATE(…)}}. */
function literal(text: string): string {
  return text.replaceAll('{{', '{\u200b{');
}
