/** Functions that throw what the SDK has names for; they run in a thread, or in a handler as they are. */
import { ProtocolError, SdkError, UrlElicitationRequiredError } from '@modelcontextprotocol/server';

const elicitations = [{ mode: 'url', message: 'Sign in', url: 'https://example.com/sign-in', elicitationId: '7' }];

class AuthorError extends ProtocolError {
  name = 'AuthorError';
}

const ERRORS = {
  'an error': () => new TypeError('plain'),
  'an error with a code and data': () => Object.assign(new Error('coded'), { code: -32_050, data: { retry: true } }),
  'a ProtocolError': () => new ProtocolError(-32_602, 'bad', { uri: 'file:///x' }),
  'an UrlElicitationRequiredError': () => new UrlElicitationRequiredError(elicitations),
  'a subclass of ProtocolError with that code': () => new AuthorError(-32_042, 'sign in', { elicitations }),
  'an error of no class with that code': () => Object.assign(new Error('sign in'), { code: -32_042, data: {} }),
  'an SdkError': () => new SdkError('REQUEST_TIMEOUT', 'timed out', { timeout: 7 }),
  'a string': () => 'a string',
};

export const KINDS = Object.keys(ERRORS);

export async function throwing({ what }) {
  throw ERRORS[what]();
}
