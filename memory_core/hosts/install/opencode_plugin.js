// memory-core: notes that a message calls to mind are shown beside it, turns are kept at their end, and before opencode compacts a
// session, a copy of it saves what should last. Written by `memory-core install opencode`, for opencode 1 and 2.
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"

const COMMAND = ["memory-core", "hook", "opencode"]
const RECALL_MILLISECONDS = 10_000
const KEPT_MESSAGES = 40 // at the end of a session, among which memory-core knows the new ones
const LEFT_SESSIONS = 3 // that are looked at for what was said before opencode was killed

// Hand an event to memory-core, and wait until it has been dealt with; returns its answer, and fails where that cannot be.
const tell = (event, cwd, timeout) =>
  new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { cwd, timeout, stdio: ["pipe", "pipe", "ignore"] })
    let said = ""
    child.stdout.setEncoding("utf8").on("data", (piece) => (said += piece))
    child.on("error", reject)
    child.on("close", () => resolve(said))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(event))
  })

const isSaid = ({ type, synthetic }) => type === "text" && !synthetic
const joinText = (parts) => parts.filter(isSaid).map(({ text }) => text).join("\n")

// Return what a message calls to mind; nothing if nothing does.
const recall = async (sessionID, prompt, cwd) => {
  if (!prompt) return
  const event = { hook_event_name: "UserPromptSubmit", session_id: sessionID, prompt, cwd }
  const said = await tell(event, cwd, RECALL_MILLISECONDS)
  return said && JSON.parse(said).hookSpecificOutput?.additionalContext
}

// Hand on the last messages of a session; an answer that is not finished comes with the next event.
const keep = (name, sessionID, all, cwd) => {
  const isFinished = ({ role, time }) => role !== "assistant" || time.completed
  const messages = all.filter(isFinished).slice(-KEPT_MESSAGES)
  const told = messages.map(({ time, ...message }) => ({ ...message, time: new Date(time.created).toISOString() }))
  return tell({ hook_event_name: name, session_id: sessionID, messages: told, cwd }, cwd)
}

// opencode 1
const server = async ({ client, directory }) => {
  if (process.env.MEMORY_CORE_SAVING) return {} // this is a copy
  // The session goes on whatever happens.
  const complain = (message, error) => {
    const body = { service: "memory-core", level: "error", message, extra: { error: String(error) } }
    return client.app.log({ body }).catch(() => {})
  }
  const keepSession = async (name, id) => {
    const { data: all } = await client.session.messages({ path: { id } })
    const messages = all.map(({ info, parts }) => ({ id: info.id, role: info.role, time: info.time, text: joinText(parts) }))
    await keep(name, id, messages, directory)
  }
  let looked = false
  const keepWhatWasLeft = async (current) => {
    if (looked) return
    looked = true
    const { data: sessions } = await client.session.list()
    const others = sessions.filter(({ id, parentID }) => !parentID && id !== current)
    others.sort((one, other) => other.time.updated - one.time.updated)
    for (const { id } of others.slice(0, LEFT_SESSIONS)) await keepSession("SessionLeft", id)
  }
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      try {
        const text = await recall(sessionID, joinText(parts), directory)
        // Parts stand in the order of their ids: this one is the last.
        const id = `prt_memory-core-${randomUUID()}`
        if (text) parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
      } catch (error) {
        await complain("no notes were recalled for this message", error)
      }
      keepWhatWasLeft(sessionID).catch((error) => complain("turns of other sessions were not kept", error))
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      try {
        const path = { id: event.properties.sessionID }
        const { data: session } = await client.session.get({ path })
        if (session.parentID) return // a sub-agent
        await keepSession("Stop", path.id)
      } catch (error) {
        await complain("a turn was not kept", error)
      }
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      try {
        const { data: messages } = await client.session.messages({ path: { id: sessionID } })
        // A copy with the message that asks for the compaction would begin with it.
        const asking = messages.findLast(({ parts }) => parts.some(({ type }) => type === "compaction"))
        const body = asking ? { messageID: asking.info.id } : {}
        const { data: copy } = await client.session.fork({ path: { id: sessionID }, body })
        try {
          const event = { hook_event_name: "PreCompact", session_id: sessionID, copy_id: copy.id, cwd: directory }
          const said = await tell(event, directory)
          if (said) throw new Error(JSON.parse(said).systemMessage)
        } finally {
          await client.session.delete({ path: { id: copy.id } })
        }
      } catch (error) {
        await complain("no notes were saved before this compaction", error)
      }
    },
  }
}

// opencode 2: no copy before a compaction
const setup = async (ctx) => {
  if (process.env.MEMORY_CORE_SAVING) return
  const cwd = ctx.location.directory
  const complain = (message, error) => console.error(`memory-core: ${message}: ${error}`)
  const recalled = new Map() // by session, for the message that is being answered
  await ctx.session.hook("prompt", async ({ sessionID, prompt }) => {
    recalled.delete(sessionID)
    try {
      const text = await recall(sessionID, prompt.text, cwd)
      if (text) recalled.set(sessionID, text)
    } catch (error) {
      complain("no notes were recalled for this message", error)
    }
  })
  await ctx.session.hook("context", ({ sessionID, system }) => {
    if (recalled.has(sessionID)) system.push({ type: "text", text: recalled.get(sessionID) })
  })
  const keepTurn = async (sessionID) => {
    const session = await ctx.session.get({ sessionID })
    if ((session.data ?? session).parentID) return // a sub-agent
    const all = await ctx.session.messages({ sessionID })
    const messages = (all.data ?? all).map(({ id, type, time, text, content }) => ({
      id, role: type, time, text: text ?? joinText(content ?? []),
    }))
    await keep("Stop", sessionID, messages, cwd)
  }
  const controller = new AbortController()
  const listen = async () => {
    for await (const { type, data } of ctx.event.subscribe({ signal: controller.signal })) {
      if (type === "session.idle") await keepTurn(data.sessionID).catch((error) => complain("a turn was not kept", error))
    }
  }
  listen().catch((error) => controller.signal.aborted || complain("turns are not kept", error))
  return () => controller.abort()
}

export default { id: "memory-core", server, setup }
