import type { AuditRecord, AuditVerification } from '@holdfast/client'
import { useLocation } from 'preact-iso/router'
import { useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty, PageTitle } from '../../parts/content.js'
import { CopyText } from '../../parts/copy.js'
import { ActionButton } from '../../parts/dialog.js'
import { textOf } from '../../parts/entry-form.js'
import { Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { userName } from '../../parts/user-name.js'
import { adminWords } from '../../words/en-admin.js'
import { words } from '../../words/en.js'

/** Records of a page. */
const PAGE = 100
const { trail: text } = adminWords

interface Filters {
  readonly user: string
  readonly action: string
}

/** Who changed what, newest first. The filters stand in the address. */
export function AuditPage() {
  const { url } = useLocation()
  const query = new URL(url, location.origin).searchParams
  const filters = { user: query.get('user') ?? '', action: query.get('action') ?? '' }
  return (
    <>
      <PageTitle text={words.nav.audit} />
      <Verify />
      <FilterForm key={`${filters.user} ${filters.action}`} filters={filters} />
      <Records key={JSON.stringify(filters)} filters={filters} before={null} />
    </>
  )
}

function FilterForm({ filters }: { readonly filters: Filters }) {
  const { route } = useLocation()
  const show = (user: string, action: string) => {
    const given = Object.entries({ user, action }).filter(([, value]) => value !== '')
    const query = new URLSearchParams(given).toString()
    route(addressOf(`/audit${query === '' ? '' : `?${query}`}`))
  }
  return (
    <form
      class="inline"
      role="search"
      aria-label={text.filters}
      onSubmit={(event) => {
        event.preventDefault()
        const data = new FormData(event.currentTarget)
        show(textOf(data, 'user').trim(), textOf(data, 'action').trim())
      }}
    >
      <label>
        {text.user}
        <input name="user" type="text" autocomplete="off" defaultValue={filters.user} />
      </label>
      <label>
        {text.action}
        <input name="action" type="text" autocomplete="off" defaultValue={filters.action} />
      </label>
      <button type="submit">{text.find}</button>
      {(filters.user !== '' || filters.action !== '') && (
        <button type="button" class="quiet" onClick={() => show('', '')}>
          {text.clear}
        </button>
      )}
    </form>
  )
}

/** The records before a given one. The button loads the next ones. */
function Records({ filters, before }: { readonly filters: Filters; readonly before: number | null }) {
  const [isMore, setMore] = useState(false)
  const answer = useAnswer(`audit ${JSON.stringify([filters, before])}`, [], (signal) =>
    api.listAudit(
      {
        records: PAGE,
        ...(before === null ? {} : { before }),
        ...(filters.user === '' ? {} : { user: filters.user }),
        ...(filters.action === '' ? {} : { action: filters.action }),
      },
      { signal },
    ),
  )
  return (
    <Content answer={answer}>
      {({ records }) => {
        const last = records.at(-1)
        if (!last) return <Empty text={text.empty} />
        return (
          <>
            <Table caption={words.nav.audit} columns={Object.values(text.columns)}>
              {records.map((record) => (
                <RecordRow key={record.id} record={record} />
              ))}
            </Table>
            {records.length === PAGE &&
              (isMore ? (
                <Records filters={filters} before={last.id} />
              ) : (
                <p class="more">
                  <button type="button" onClick={() => setMore(true)}>
                    {text.older}
                  </button>
                </p>
              ))}
          </>
        )
      }}
    </Content>
  )
}

function RecordRow({ record }: { readonly record: AuditRecord }) {
  const { user, object, status, detail } = record
  const what = [object.kind, object.id, object.name].filter((part) => part !== null).join(' ')
  return (
    <tr title={words.error.request(record.request_id)}>
      <td class="number">
        <Time at={record.time} />
      </td>
      <td>{user === null ? text.nobody : userName(user, record.user_type)}</td>
      <td class="mono">{record.action}</td>
      <td>
        {what}
        {detail !== null && <span class="soft reason">{detail}</span>}
      </td>
      <td class="number">{status === null ? text.noAnswer : text.answer(status)}</td>
      <td>{record.address}</td>
    </tr>
  )
}

/** Reads the whole chain: a button, because a long trail takes a while. */
function Verify() {
  const [found, setFound] = useState<AuditVerification | null>(null)
  return (
    <section>
      <ActionButton text={text.verify} receipt={null} act={async () => setFound(await api.verifyAudit())} />
      <div role="status">
        {found && (
          <div class={`notice ${found.ok ? 'info' : 'bad'}`}>
            <p>{found.ok ? text.whole(found.head.position) : text.broken(found.problem ?? '')}</p>
            {found.unchained > 0 && <p>{text.unchained(found.unchained)}</p>}
          </div>
        )}
      </div>
      {found?.ok && <CopyText text={`${found.head.position} ${found.head.hash}`} label={text.head} />}
    </section>
  )
}
