// An OpenID Connect provider for tests, on 127.0.0.1: users log in with any password.
//
//   node provider.mjs '{"client": {"client_id": …}, "users": "users.json", "inTokens": true}'
//
// It prints its issuer once it listens. `users` is a file with the claims of each user, which is
// read at each login. Claims are in ID tokens with `inTokens`, else the userinfo endpoint has them.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const options = JSON.parse(process.argv[2]);
const users = () => JSON.parse(readFileSync(options.users));

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [options.client],
    scopes: ['openid', 'profile', 'email', 'groups'],
    claims: {
      openid: ['sub'],
      profile: ['name', 'preferred_username'],
      email: ['email', 'email_verified'],
      groups: ['groups'],
    },
    conformIdTokenClaims: !options.inTokens,
    cookies: { keys: ['signs cookies of tests'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
    findAccount: (_, id) => {
      const claims = users()[id];
      return claims && { accountId: id, claims: () => ({ sub: id, ...claims }) };
    },
  });
  server.on('request', provider.callback());
  console.log(`listens at ${issuer}`);
});
