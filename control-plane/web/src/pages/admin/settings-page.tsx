import type { Appearance } from '@holdfast/client'
import { useState } from 'preact/hooks'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, PageTitle } from '../../parts/content.js'
import { EntryForm, textOf } from '../../parts/entry-form.js'
import { Table } from '../../parts/table.js'
import { adminWords } from '../../words/en-admin.js'
import { words } from '../../words/en.js'

const { setting: text } = adminWords

/** What the header of all pages shows, to be changed; and what the control plane was started with, to be read. */
export function SettingsPage() {
  const looks = useAnswer('settings looks', ['appearance'], (signal) => api.getAppearance({}, { signal }))
  const inForce = useAnswer('settings', [], (signal) => api.listServiceSettings({}, { signal }))
  const [search, setSearch] = useState('')
  const isFound = (name: string, meaning: string) => `${name} ${meaning}`.toLowerCase().includes(search.toLowerCase())
  return (
    <>
      <PageTitle text={words.nav.settings} />
      <Content answer={inForce}>
        {({ records }) => (
          <>
            <Content answer={looks}>{(appearance) => <Looks appearance={appearance} />}</Content>
            <p class="soft">{text.text}</p>
            <div class="filters" role="search">
              <label>
                <span class="hidden">{text.search}</span>
                <input
                  type="search"
                  placeholder={text.search}
                  value={search}
                  onInput={(event) => setSearch(event.currentTarget.value)}
                />
              </label>
            </div>
            <Table caption={words.nav.settings} columns={Object.values(text.columns)}>
              {records
                .filter(({ name, meaning }) => isFound(name, meaning))
                .map(({ name, value, given, meaning }) => (
                  <tr key={name}>
                    <td class="mono">{name}</td>
                    <td class="mono">{value ?? text.none}</td>
                    <td>{given ? text.given : text.usual}</td>
                    <td>{meaning}</td>
                  </tr>
                ))}
            </Table>
          </>
        )}
      </Content>
    </>
  )
}

function Looks({ appearance }: { readonly appearance: Appearance }) {
  return (
    <section aria-labelledby="looks">
      <h2 id="looks">{text.looks}</h2>
      <EntryForm
        label={text.looks}
        submit={adminWords.save}
        receipt={adminWords.saved}
        send={(data) =>
          api.changeAppearance({
            body: {
              name: textOf(data, 'name'),
              environment: textOf(data, 'environment'),
              announcement: textOf(data, 'announcement'),
            },
          })
        }
      >
        <label>
          {text.productName}
          <input name="name" type="text" autocomplete="off" maxLength={200} defaultValue={appearance.name} />
        </label>
        <label>
          {text.environment}
          <input
            name="environment"
            type="text"
            autocomplete="off"
            maxLength={200}
            defaultValue={appearance.environment}
          />
        </label>
        <label>
          {text.announcement}
          <input
            name="announcement"
            type="text"
            autocomplete="off"
            maxLength={10000}
            defaultValue={appearance.announcement}
          />
        </label>
      </EntryForm>
    </section>
  )
}
