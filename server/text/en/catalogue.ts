import account from './account.json' with { type: 'json' };
import boardSettings from './board_settings.json' with { type: 'json' };
import boards from './boards.json' with { type: 'json' };
import chat from './chat.json' with { type: 'json' };
import embedding from './embedding.json' with { type: 'json' };
import home from './home.json' with { type: 'json' };
import identities from './identities.json' with { type: 'json' };
import mails from './mails.json' with { type: 'json' };
import members from './members.json' with { type: 'json' };
import moderation from './moderation.json' with { type: 'json' };
import oauth from './oauth.json' with { type: 'json' };
import operator from './operator.json' with { type: 'json' };
import picture from './picture.json' with { type: 'json' };
import profile from './profile.json' with { type: 'json' };
import refusals from './refusals.json' with { type: 'json' };
import shell from './shell.json' with { type: 'json' };
import signIn from './sign_in.json' with { type: 'json' };
import tokens from './tokens.json' with { type: 'json' };
import webhooks from './webhooks.json' with { type: 'json' };

export const english = {
  account,
  board_settings: boardSettings,
  boards,
  chat,
  embedding,
  home,
  identities,
  mails,
  members,
  moderation,
  oauth,
  operator,
  picture,
  profile,
  refusals,
  shell,
  sign_in: signIn,
  tokens,
  webhooks,
};
