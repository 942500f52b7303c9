import { dictionary } from '@zxcvbn-ts/language-common';
import { expect, test } from 'vitest';
import { checkPassword, minPasswordLength } from '../../server/domain/sign-in/check-password.ts';

const check = (password: string) => checkPassword(password, 'ada@example.com');

test('every password in the dictionary of common passwords that has the required length is rejected', async () => {
  const long = dictionary['passwords-common'].filter(one => one.length >= minPasswordLength);
  expect(long).toEqual(expect.arrayContaining(['administrator', 'qwerty123456', 'leavemealone', 'counterstrike']));
  for (const one of long) await expect(check(one), one).rejects.toThrow('commonest');
});

test.each([
  ['with a capital letter and digits', ['Password1234', 'Monkey123456', 'Letmein99731']],
  ['with digits and punctuation marks', ['password!123', 'Welcome-2026!', 'password@1234']],
  ['with three more characters', ['administratorx', 'internationals!!']],
  ['that is repeated', ['dragondragon', 'adminadminadmin', 'abc123abc123', 'trustno1trustno1', 'letmein-letmein']],
  [
    'with keys that are next to each other on the keyboard',
    ['asdfghjklqwertyuiop', 'password123456789', 'qwertyuiop123', 'zxcvbnmasdfghjkl'],
  ],
])('a common password %s is rejected', async (_, passwords) => {
  for (const one of passwords) await expect(check(one), one).rejects.toThrow('commonest');
});

test('a password is rejected if it is a sequence of characters, a mix of two characters, or the passphrase of a famous comic', async () => {
  const guessed = ['abcdefghijkl', '012345678901', '987654321987', 'aabbabbabbaa', 'correct horse battery staple'];
  for (const one of guessed) await expect(check(one), one).rejects.toThrow('commonest');
});

test('unusual passphrases and random passwords are accepted', async () => {
  const accepted = [
    'a few words for a password',
    'purple otter sings at noon',
    'unbelievable green teapots',
    'football is what we play',
    'dragon-teacup-monday',
    'bananatelephone',
    'x7Gq2mLw9RtB',
    '839201847362',
    'password manager of the year',
    'mein Hund heißt Bello',
    '用户的很长很长的密码短语啊',
  ];
  for (const one of accepted) await expect(check(one), one).resolves.toBeUndefined();
});
