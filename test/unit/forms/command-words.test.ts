import {
  CommandWordsError,
  parseAuthorPath,
  parseCommandPath,
  parseHostList,
  parseLimit,
  parseTags,
  requireInventoryPath,
  shownText,
} from '@holdfast/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { attackPieces } from '../../ansible/injection.js'

const LONG = 'a'.repeat(5000)
const wordsIn = (text: string, ...others: string[]) => [...text.trim().split(/\s*\|\s*/), ...others]

/** What people type, and what attackers do, with `|` in between. */
const KINDS: Record<string, { parse: (text: string) => unknown; good: string[]; bad: string[] }> = {
  'a list of hosts': {
    parse: parseHostList,
    good: wordsIn(`localhost, | web1, web2 | a,,b, | web[1:20].example.com, | web[01:10:2], | db-[a:f].example.com,x
      | 10.0.0.1,10.0.0.2 | 10.0.0.[1:20], | 2001:db8::1, | [2001:db8::1]:22, | ::ffff:10.0.0.1, | 2001:db8:0:[0:f]::1,
      | fe80::1%eth0, | root@web1, | user.name@10.0.0.1:22, | web1:2222, | wëb, | host_name, | web-, | 数据库1,`),
    bad: wordsIn(
      `{{ x }}, | {%x%}, | {#, | a b, | -x, | a,-oProxyCommand=x | @/etc/passwd, | x,@f | x]@y, | localhost | ,
        | a;b, | a$(id), | a/b, | a=b, | a,#x | [::1, | [[lookup]], | a%b, | a\\b, | a'b, | 🙂, | web[0:99999],
        | a[1:200][1:200],`,
      'a\n,b',
      'a,\u001cb',
      'a\u2028,',
      'a\u00a0b,',
      'a\u0085,',
      '`id`,',
      `${LONG},`,
    ),
  },
  'a limit': {
    parse: parseLimit,
    good: wordsIn(
      `all | web* | web:db | web:!db | web:&prod:!db[0] | !web | * | web[0] | web[-1] | web[1:] | web[0:2]
        | ~web\\d+ | ~^web$ | all:!~db.* | web1,web2 | web1, db | web1 web2 | web?.x | 10.0.0.1 | 2001:db8::1
        | !2001:db8::1 | [2001:db8::1]:22 | [ab]* | web[!a]x | www[01:50].example.com | db[a:f] | web1:2222 | root@web1`,
      '~(web|db).*\\.example\\.com',
    ),
    bad: wordsIn(
      `@f | x]@/etc/passwd | a:@f | a @f | !@f | &@f | x@ | @x@y | *@f | a@[::1]@f | [a]@f | a[b@c] | [@f]x
        | {{ x }} | all,{{ x }} | -x | a,-x | , | web[0 | web] | a;b | !!a | ~(a+)+$ | ~.*.*.*.*x | ~{{x}} | ~(?:a) | ~a\\1`,
      '',
      ' ',
      'x,\u001c@/etc/passwd',
      'a\u2028@f',
      'a\n@f',
      LONG,
    ),
  },
  tags: {
    parse: parseTags,
    good: wordsIn('all | never | a,b | install, web | role::nginx | app/v1.2 | my tag | v=1 | a,'),
    bad: ['@f', '-x', '{{x}}', 'a\nb', '', ',', 'a,{%', 'a\u2028', 'a$(b)', 'a,-b', 'a\u0085b'],
  },
  'an inventory that a user names': {
    parse: requireInventoryPath,
    good: wordsIn(`inventories/prod | inventories/prod/hosts.yml | hosts | inventory | prod.ini | env/prod/hosts
      | inventory_prod.yml | aws-inventory.yml | prod_hosts | inventories/aws_ec2.yml | my inventories/x/inventory`),
    bad: wordsIn(
      `secrets.yml | group_vars/all.yml | inventories/prod/group_vars/all/vault.yml | inventories/host_vars/a.yml
        | inventories/vault/web.yml | Host_Vars/hosts | ansible.cfg | .git/config | inventories/../x | deploy.sh | site.yml
        | inventories/.vault | {{x}}/hosts | / | inventories/-x`,
      'hosts\n',
      '',
    ),
  },
}

describe.each(Object.entries(KINDS))('%s', (_kind, { parse, good, bad }) => {
  test.each(good)('%j passes', (text) => {
    parse(text)
  })

  test.each(bad)('%j is refused', (text) => {
    expect(() => parse(text)).toThrow(CommandWordsError)
  })

  test('an accepted text has nothing that ansible reads differently, at whatever character it is split', () => {
    const canary = { work: '/w', secretFile: '/s', made: '/m', vaultPassword: '/v', output: '/o' }
    const piece = fc.oneof(
      fc.constantFrom(...good, ...bad, ...attackPieces(canary)),
      fc.string({ unit: 'binary', maxLength: 4 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 4 }), (pieces) => {
        const text = pieces.join('')
        try {
          parse(text)
        } catch (error) {
          expect(error).toBeInstanceOf(CommandWordsError)
          return
        }
        expect(text).not.toMatch(/[{}\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u)
        expect(text).not.toMatch(/[^\S ]/)
        expect(text).not.toMatch(/^-|, *-/)
        if (parse !== requireInventoryPath) expect(text).not.toMatch(/(?:^|[^\p{L}\p{M}\p{N}_.+-])@/u)
      }),
      { numRuns: 3000 },
    )
  })
})

test('a path has nothing that ansible or a shell expands', () => {
  expect(parseCommandPath('/srv/play books/site-1.yml')).toEqual(['srv', 'play books', 'site-1.yml'])
  for (const text of ['$HOME/x', '~/x', 'a/{{x}}', 'a\0b', 'a\\b', '-x', 'a/-x', 'a*', '']) {
    expect(() => parseCommandPath(text)).toThrow(CommandWordsError)
  }
})

test('a path of an author may have every sign that people see, but nothing that ansible expands', () => {
  const name = "größe ✔ (a) [b] 'c' & d; e! 100% #1 *?.yml"
  expect(parseAuthorPath(`x/${name}`)).toEqual(['x', name])
  for (const text of ['$HOME/x', 'a$x', '~/x', 'a/{{x}}', 'a\0b', 'a\\b', '-x', 'a/-x', 'a\u2028', 'a\u00a0', '']) {
    expect(() => parseAuthorPath(text)).toThrow(CommandWordsError)
  }
})

test('a text in a message shows every character', () => {
  expect(shownText('a\u001b[31m\u2028é')).toBe('"a\\u{1b}[31m\\u{2028}é"')
  expect(shownText('x'.repeat(200))).toHaveLength(83)
})
