"""Platform archives become posts: every shape that people have, no user names, nothing lost on the way."""

import hashlib
import json
import lzma
import random

import polars as pl
import pytest
import zstandard

from davy.core.errors import UserError
from davy.corpus.collect import gather
from davy.corpus.collect.platforms import reader, records_of, scrub
from davy.corpus.collect.records import AccountHasher, records_frame, records_to_posts
from davy.corpus.collect.rule import FilterRule
from davy.corpus.collect.strategies import Strategy
from davy.files import json_stream

EVERYTHING = Strategy("everything", "search")

X_PAGE = {
    "data": [
        {
            "id": "15",
            "text": "@bob Ein Grumblefop https://t.co/a",
            "lang": "de",
            "author_id": "7",
            "created_at": "2022-03-16T12:00:00.000Z",
            "conversation_id": "14",
            "referenced_tweets": [{"type": "replied_to", "id": "14"}],
            "attachments": {"media_keys": ["m1"]},
            "entities": {"urls": [{"url": "https://t.co/a", "expanded_url": "https://example.org"}]},
        },
        {"id": "16", "text": "RT @bob: hm", "author_id": "8", "lang": "und"},
    ],
    "includes": {"users": [{"id": "7", "username": "Ada"}], "media": [{"media_key": "m1", "type": "photo"}]},
}
X_OLD = {
    "id_str": "17",
    "full_text": "alt",
    "created_at": "Wed Mar 16 12:00:00 +0000 2022",
    "user": {"screen_name": "Cy", "id_str": "9"},
}
COMMENT = {
    "id": "abc",
    "body": "tea is fine",
    "author": "Ada",
    "subreddit": "Tea",
    "created_utc": 1647432000,
    "link_id": "t3_xyz",
    "parent_id": "t1_aaa",
}
SUBMISSION = {
    "id": "xyz",
    "title": "Tea",
    "selftext": "which?",
    "author": "Bob",
    "subreddit": "Tea",
    "created_utc": "1647432000",
    "is_self": True,
}
GAB = {"post": {"id": 5, "body": "hi", "created_at": "2022-03-16T12:00:00+00:00", "user": {"username": "Ada"}}}
GAB_NEW = {"id": "6", "content": "<p>hi <b>you</b></p>", "account": {"acct": "ada"}, "group": {"title": "Tea"}}
MASTODON = {
    "id": "9",
    "uri": "https://social.example/users/ada/statuses/9",
    "content": "<p>one<br>two</p><p>three &amp; four</p>",
    "language": "en",
    "visibility": "public",
    "created_at": "2022-03-16T12:00:00.000Z",
    "account": {"acct": "ada"},
    "media_attachments": [{"type": "image"}],
}
OUTBOX = {
    "orderedItems": [
        {
            "type": "Create",
            "object": {
                "type": "Note",
                "id": "https://social.example/users/ada/statuses/10",
                "content": "<p>hello</p>",
                "published": "2022-03-16T12:00:00Z",
                "attributedTo": "https://social.example/users/ada",
                "to": ["https://www.w3.org/ns/activitystreams#Public"],
                "contentMap": {"en": "<p>hello</p>"},
            },
        },
        {
            "type": "Create",
            "object": {
                "type": "Note",
                "id": "https://social.example/users/ada/statuses/11",
                "content": "for followers",
                "to": ["https://social.example/users/ada/followers"],
            },
        },
        {"type": "Announce", "object": "https://social.example/x"},
    ]
}
JETSTREAM = {
    "did": "did:plc:ada",
    "time_us": 1,
    "kind": "commit",
    "commit": {
        "operation": "create",
        "collection": "app.bsky.feed.post",
        "rkey": "3k",
        "record": {
            "$type": "app.bsky.feed.post",
            "text": "hello",
            "langs": ["de-DE"],
            "createdAt": "2022-03-16T12:00:00.000Z",
            "embed": {"$type": "app.bsky.embed.images"},
        },
    },
}
SEARCH = {
    "posts": [
        {
            "uri": "at://did:plc:ada/app.bsky.feed.post/3k",
            "author": {"did": "did:plc:ada", "handle": "ada.example"},
            "record": {"$type": "app.bsky.feed.post", "text": "hello", "createdAt": "2022-03-16T12:00:00.000Z"},
        }
    ]
}

TELEGRAM = {
    "name": "Tea and Cake",
    "type": "public_supergroup",
    "id": 77,
    "messages": [
        {"id": 1, "type": "service", "date_unixtime": "1647432000", "action": "create_group", "text": ""},
        {
            "id": 2,
            "type": "message",
            "date": "2022-03-16T13:00:00",
            "date_unixtime": "1647432000",
            "from": "Ada",
            "from_id": "user5",
            "text": ["look at ", {"type": "text_link", "text": "this", "href": "https://example.org"}, " kettle"],
            "photo": "photos/one.jpg",
        },
        {"id": 3, "type": "message", "date_unixtime": "1647432060", "from": None, "from_id": "user6",
         "reply_to_message_id": 2, "forwarded_from": "Bo", "media_type": "video_file", "text": "nice"},
    ],
}  # fmt: skip
YOUTUBE = {
    "kind": "youtube#commentThreadListResponse",
    "items": [
        {
            "kind": "youtube#commentThread",
            "id": "Ug1",
            "snippet": {
                "channelId": "UCtea",
                "videoId": "vid1",
                "topLevelComment": {
                    "kind": "youtube#comment",
                    "id": "Ug1",
                    "snippet": {
                        "textDisplay": "tea &amp; cake<br>please",
                        "authorDisplayName": "@Ada",
                        "authorChannelId": {"value": "UCada"},
                        "publishedAt": "2022-03-16T12:00:00Z",
                    },
                },
            },
            "replies": {
                "comments": [
                    {"kind": "youtube#comment", "id": "Ug1.9a",
                     "snippet": {"textOriginal": "why?", "parentId": "Ug1", "publishedAt": "2022-03-16T12:01:00Z"}},
                ]
            },
        }
    ],
}  # fmt: skip
YOUTUBE_SAVED = {
    "id": "vid1",
    "channel_id": "UCtea",
    "comments": [
        {"id": "Ug1", "text": "tea", "author": "@Ada", "author_id": "UCada", "timestamp": 1647432000, "parent": "root"},
        {"id": "Ug1.9a", "text": "why?", "author": "@Bo", "timestamp": 1647432060, "parent": "Ug1"},
    ],
}
FACEBOOK = {
    "data": [
        {
            "id": "10_20",
            "message": "Tea is served",
            "created_time": "2022-03-16T12:00:00+0000",
            "from": {"name": "Tea House", "id": "10"},
            "attachments": {"data": [{"type": "photo"}]},
            "comments": {
                "data": [
                    {
                        "id": "20_30",
                        "message": "lovely",
                        "created_time": "2022-03-16T12:05:00+0000",
                        "comments": {"data": [{"id": "20_31", "message": "indeed", "parent": {"id": "20_30"}}]},
                    }
                ]
            },
        },
        {"id": "10_21", "created_time": "2022-03-16T12:00:00+0000"},
    ],
    "paging": {},
}
FACEBOOK_OWN = [{"timestamp": 1647432000, "data": [{"post": "T\u00c3\u00a4glich Tee"}, {"update_timestamp": 1}]}]
FACEBOOK_COMMENTS = {
    "comments_v2": [
        {"timestamp": 1647432000,
         "data": [{"comment": {"timestamp": 1647432000, "comment": "hm", "author": "Ada", "group": "Tea"}}]},
    ]
}  # fmt: skip


@pytest.mark.parametrize(
    ("platform", "raw", "expected"),
    [
        ("telegram", TELEGRAM, [("telegram:77/2", "look at this kettle", "ada"), ("telegram:77/3", "nice", None)]),
        ("telegram", {"chats": {"list": [TELEGRAM, {**TELEGRAM, "id": 78, "type": "personal_chat"}]}},
         [("telegram:77/2", "look at this kettle", "ada"), ("telegram:77/3", "nice", None)]),
        ("youtube", YOUTUBE, [("youtube:Ug1", "tea & cake\nplease", "@ada"), ("youtube:Ug1.9a", "why?", None)]),
        ("youtube", YOUTUBE_SAVED, [("youtube:Ug1", "tea", "@ada"), ("youtube:Ug1.9a", "why?", "@bo")]),
        ("facebook", FACEBOOK, [("facebook:10_20", "Tea is served", "tea house"), ("facebook:20_30", "lovely", None),
                                ("facebook:20_31", "indeed", None)]),
        ("facebook", FACEBOOK_OWN, [("facebook:7a82a845aa0054a1f84d45ec", "Täglich Tee", None)]),
        ("x", X_PAGE, [("x:15", "@bob Ein Grumblefop https://t.co/a", "ada"), ("x:16", "RT @bob: hm", None)]),
        ("x", {"data": X_PAGE["data"][0], "matching_rules": []}, [("x:15", X_PAGE["data"][0]["text"], None)]),
        ("x", X_OLD, [("x:17", "alt", "cy")]),
        ("reddit", COMMENT, [("reddit:t1_abc", "tea is fine", "ada")]),
        ("reddit", SUBMISSION, [("reddit:t3_xyz", "Tea\n\nwhich?", "bob")]),
        ("reddit", {**COMMENT, "body": "[deleted]"}, []),
        ("reddit", {"kind": "Listing", "data": {"children": [{"kind": "t1", "data": COMMENT}]}},
         [("reddit:t1_abc", "tea is fine", "ada")]),
        ("gab", GAB, [("gab:5", "hi", "ada")]),
        ("gab", GAB_NEW, [("gab:6", "hi you", "ada")]),
        ("mastodon", MASTODON, [("mastodon:social.example/9", "one\ntwo\n\nthree & four", "ada")]),
        ("mastodon", OUTBOX, [("mastodon:social.example/10", "hello", "ada")]),
        ("mastodon", {"event": "update", "payload": json.dumps(MASTODON)},
         [("mastodon:social.example/9", "one\ntwo\n\nthree & four", "ada")]),
        ("mastodon", {**MASTODON, "visibility": "private"}, []),
        ("plain", {"tweet_id": "t1", "tweet": "hi", "user": "Ada"}, [("t1", "hi", "ada")]),
        ("x", {"nothing": 1}, []),
        ("bluesky", 7, []),
    ],
)  # fmt: skip
def test_a_value_of_an_archive_gives_its_posts(platform, raw, expected):
    found = list(records_of(reader(platform), raw))
    assert [(r.id, r.text, r.author) for r in found] == expected


def test_what_rules_ask_for_is_read_from_each_platform():
    first, second = records_of(reader("x"), X_PAGE)
    assert (first.reply, first.images, first.links, first.retweet) == (True, True, True, False)
    assert (second.retweet, second.lang) == (True, None)
    assert (first.time, first.reply_to, first.conversation) == ("2022-03-16T12:00:00Z", "x:14", "14")
    (comment,) = records_of(reader("reddit"), COMMENT)
    assert (comment.community, comment.time, comment.reply_to) == ("tea", "2022-03-16T12:00:00Z", "reddit:t1_aaa")
    (old,) = records_of(reader("x"), X_OLD)
    assert old.time == "2022-03-16T12:00:00Z"


def test_threads_places_and_media_are_read_from_chats_videos_and_pages():
    first, second = records_of(reader("telegram"), TELEGRAM)
    assert (first.time, first.community, first.images, first.urls) == (
        "2022-03-16T12:00:00Z", "tea and cake", True, "https://example.org")  # fmt: skip
    assert (second.reply_to, second.retweet, second.videos) == ("telegram:77/2", True, True)
    for given in (YOUTUBE, YOUTUBE_SAVED):
        comment, reply = records_of(reader("youtube"), given)
        assert (comment.community, comment.conversation, comment.time) == ("UCtea", "vid1", "2022-03-16T12:00:00Z")
        assert (comment.reply, reply.reply_to, reply.conversation) == (False, "youtube:Ug1", "vid1")
    post, comment, answer = records_of(reader("facebook"), FACEBOOK)
    assert (post.time, post.community, post.images, post.reply) == ("2022-03-16T12:00:00Z", "10", True, False)
    assert (comment.reply_to, answer.reply_to, answer.conversation) == (
        "facebook:10_20", "facebook:20_30", "10_20")  # fmt: skip
    (own,) = records_of(reader("facebook"), FACEBOOK_COMMENTS)
    assert (own.text, own.author, own.community, own.reply) == ("hm", "ada", "tea", True)


def test_columns_of_any_name_are_read_by_a_mapping(tmp_path):
    (tmp_path / "own.csv").write_text(
        "id,Nummer,Wortlaut,Datum,Seite,user\n9,1,hi,2022-03-16,Tee,ada\n9,2,ho,2022-03-20,Kuchen,bo\n"
    )
    columns = ("id=Nummer", "time=Datum", "community=Seite")
    done, posts = collected(
        [tmp_path / "own.csv"], tmp_path / "a.parquet", platform="plain", text_column="Wortlaut", columns=columns
    )
    assert posts.select("id", "text", "time", "community").rows() == [
        ("1", "hi", "2022-03-16T00:00:00Z", "tee"),
        ("2", "ho", "2022-03-20T00:00:00Z", "kuchen"),
    ]
    assert done.left_out_columns == []
    for wrong, said in (
        ("time=Date", "no column 'Date'"),
        ("when=Datum", "known fields are id, time"),
        ("time", "write FIELD=COLUMN"),
        ("author=Seite", "given twice"),
    ):
        with pytest.raises(UserError, match=said):
            collected(
                [tmp_path / "own.csv"], tmp_path / "b.parquet", platform="plain", text_column="Wortlaut",
                columns=("community=Seite", wrong),
            )  # fmt: skip


def test_a_bluesky_post_has_one_id_in_streams_and_searches_and_it_does_not_name_the_account():
    (streamed,) = records_of(reader("bluesky"), JETSTREAM)
    (searched,) = records_of(reader("bluesky"), SEARCH)
    assert streamed.id == searched.id
    assert "ada" not in streamed.id
    assert (streamed.lang, streamed.media, searched.author) == ("de", True, "ada.example")


def test_an_archive_of_ours_holds_no_account_and_reads_back():
    (record,) = records_of(reader("bluesky"), SEARCH)
    line = json.dumps(scrub(record, AccountHasher(b"k" * 32)))
    assert "ada" not in line
    (back,) = records_of(reader("bluesky"), json.loads(line))
    assert (back.id, back.text, back.author, len(back.hashed)) == (record.id, "hello", None, 24)


def lines(n, **more):
    return [json.dumps({**COMMENT, "id": f"c{i}", "body": f"tea number {i}", **more}) for i in range(n)]


def written(path, rows):
    data = "\n".join(rows).encode() + b"\n"
    if path.suffix == ".zst":
        # Two frames, as dumps have them that were appended to.
        half = len(data) // 2
        data = b"".join(zstandard.ZstdCompressor().compress(part) for part in (data[:half], data[half:]))
    elif path.suffix == ".xz":
        data = lzma.compress(data)
    path.write_bytes(data)
    return path


def collected(paths, out, *strategies, platform="reddit", **settings):
    done = gather.gather(paths, out, strategies or [EVERYTHING], gather.GatherSettings(platform, **settings))
    return done, pl.read_parquet(out)


@pytest.mark.parametrize("name", ["RC.jsonl", "RC.zst", "RC.ndjson.xz"])
def test_an_archive_is_read_plain_and_packed(tmp_path, name):
    done, posts = collected([written(tmp_path / name, lines(50))], tmp_path / "out.parquet")
    assert (done.read, done.kept, len(posts)) == (50, 50, 50)
    assert posts.columns[:4] == ["id", "text", "lang", "image"]
    row = posts.row(0, named=True)
    assert (row["platform"], row["community"], row["source"]) == ("reddit", "tea", "reddit")
    assert json.loads(row["meta"])["community"] == "tea"
    assert not (tmp_path / "out.parquet.parts").exists()


def test_names_are_never_stored_and_hashed_only_on_request(tmp_path):
    archive = written(tmp_path / "RC.jsonl", lines(3, author="Grumpy_Ada"))
    _, plain = collected([archive], tmp_path / "a.parquet")
    assert "grumpy" not in plain.write_json().lower()
    assert plain["author"].null_count() == 3
    _, hashed = collected([archive], tmp_path / "b.parquet", names=AccountHasher(b"k" * 32))
    _, other = collected([archive], tmp_path / "c.parquet", names=AccountHasher(b"l" * 32))
    assert hashed["author"].n_unique() == 1
    assert hashed["author"][0] != other["author"][0]
    assert "grumpy" not in hashed.write_json().lower()
    with pytest.raises(UserError, match="at least 16"):
        AccountHasher(b"short")


def test_a_truncated_zst_is_named_with_its_place_and_the_run_goes_on_once_it_is_whole(tmp_path):
    rng = random.Random(0)
    rows = [json.dumps({**COMMENT, "id": f"c{i}", "body": rng.randbytes(60).hex()}) for i in range(20_000)]
    archive = written(tmp_path / "RC.zst", rows)
    whole, out = archive.read_bytes(), tmp_path / "out.parquet"
    archive.write_bytes(whole[: len(whole) * 3 // 4])
    with pytest.raises(UserError, match=r"RC\.zst is cut off or damaged at unpacked byte \d+.*kept so far") as caught:
        collected([archive], out)
    assert not out.exists()
    kept = int(caught.value.message.split(" posts kept so far")[0].rsplit(" ", 1)[1].replace(",", ""))
    assert 10_000 < kept < 16_000
    archive.write_bytes(whole)
    done, posts = collected([archive], out)
    assert done.resumed
    assert (done.read, len(posts), posts["id"].n_unique()) == (20_000, 20_000, 20_000)


def test_a_line_in_another_encoding_is_named_with_its_byte_and_read_when_told_how(tmp_path):
    rows = [line.encode() for line in lines(3)]
    rows[1] = rows[1].replace(b"tea number", "Tränen".encode("cp1252"))
    archive = tmp_path / "RC.jsonl"
    archive.write_bytes(b"\n".join(rows))
    byte = len(rows[0]) + 1 + rows[1].index(b"\xe4")
    with pytest.raises(UserError, match=rf"RC\.jsonl: byte {byte} \(0xe4\) is not UTF-8.*--encoding"):
        collected([archive], tmp_path / "a.parquet")
    _, posts = collected([archive], tmp_path / "b.parquet", encoding="cp1252")
    assert posts["text"].to_list() == ["tea number 0", "Tränen 1", "tea number 2"]
    done, posts = collected([archive], tmp_path / "c.parquet", skip_bad=True)
    assert (done.bad, len(posts)) == (1, 2)


def test_a_line_that_is_not_json_is_named_with_line_and_byte(tmp_path):
    archive = tmp_path / "RC.jsonl"
    archive.write_text("\n".join([*lines(2), '{"id": "x", "bo', *lines(1)]))
    with pytest.raises(UserError, match=r"line 3, byte \d+: this is not JSON"):
        collected([archive], tmp_path / "a.parquet")


def test_one_document_over_many_lines_is_read_whole(tmp_path):
    archive = tmp_path / "page.json"
    archive.write_text(json.dumps(X_PAGE, indent=2))
    _, posts = collected([archive], tmp_path / "out.parquet", platform="x")
    assert posts["id"].to_list() == ["x:15", "x:16"]


def test_a_post_is_kept_once_however_often_archives_hold_it(tmp_path):
    archives_ = [written(tmp_path / name, lines(5)) for name in ("a.jsonl", "b.jsonl")]
    done, posts = collected(archives_, tmp_path / "out.parquet")
    assert (len(posts), done.repeated) == (5, 5)


def test_strategies_take_in_turn_up_to_their_caps_and_each_post_says_how_it_was_found(tmp_path):
    archive = written(tmp_path / "RC.jsonl", [*lines(10), *(lines(20, author="Cy")[10:])])
    search = Strategy("words", rule=FilterRule.of("tea"), cap=4)
    trolls = Strategy("listed", "profiles", profiles=frozenset({"cy"}))
    done, posts = collected([archive], tmp_path / "out.parquet", search, trolls)
    assert done.taken == {"words": 4, "listed": 10}
    assert done.over["words"] == 16
    assert posts["found"].unique(maintain_order=True).to_list() == [
        "search: words, rule tea",
        "profiles: listed, 1 listed accounts",
    ]


def test_tables_and_text_files_are_archives_too(tmp_path):
    (tmp_path / "posts.csv").write_text('tweet_id,tweet,created_at\n"1","hi","2022-03-16"\n"2","ho","2022-03-20"\n')
    (tmp_path / "lines.txt").write_text("eins\n\nzwei\n")
    span = Strategy("span", "trend", since="2022-03-16T00:00:00Z", until="2022-03-17T00:00:00Z")
    _, posts = collected([tmp_path / "posts.csv"], tmp_path / "a.parquet", span, platform="plain")
    assert posts["id"].to_list() == ["1"]
    (tmp_path / "packed.txt.xz").write_bytes(lzma.compress(b"drei\n"))
    _, posts = collected([tmp_path / "packed.txt.xz"], tmp_path / "c.parquet", platform="plain")
    assert posts["text"].to_list() == ["drei"]
    (tmp_path / "old.txt").write_bytes("ä".encode("cp1252"))
    with pytest.raises(UserError, match=r"old\.txt: byte 0"):
        collected([tmp_path / "old.txt"], tmp_path / "d.parquet", platform="plain")
    _, posts = collected([tmp_path / "lines.txt"], tmp_path / "b.parquet", platform="plain")
    assert posts["text"].to_list() == ["eins", "zwei"]
    assert posts["id"].n_unique() == 2


def test_values_start_again_at_a_place(tmp_path):
    archive = written(tmp_path / "RC.zst", lines(10))
    found = list(json_stream.read_values(archive))
    again = list(json_stream.read_values(archive, start=found[3].end))
    assert [v.raw["id"] for v in again] == [v.raw["id"] for v in found[4:]]


def test_half_a_surrogate_pair_does_not_stop_an_archive(tmp_path):
    archive = tmp_path / "RC.jsonl"
    archive.write_text("\n".join([lines(1)[0], '{"id": "z", "body": "hm \\ud83d ok", "subreddit": "tea"}']))
    _, posts = collected([archive], tmp_path / "out.parquet")
    assert posts["text"].to_list() == ["tea number 0", "hm \ufffd ok"]


def test_a_span_of_days_is_said_as_it_was_given():
    from davy.corpus.collect.strategies import parse_span

    since, until = parse_span("2022-03-16", "2022-03-18", "here")
    way = Strategy("t", "trend", since=since, until=until)
    assert way.found == "trend: t, 2022-03-16 to 2022-03-18"


def test_a_run_that_was_stopped_counts_and_keeps_what_one_run_would(tmp_path, monkeypatch):
    monkeypatch.setattr(gather, "BATCH", 10)
    monkeypatch.setattr(gather, "KEEP_EVERY", 20)
    archive = written(tmp_path / "RC.jsonl", lines(95))
    calls = []

    def stop(n):
        calls.append(n)
        if len(calls) == 6:
            raise KeyboardInterrupt

    out = tmp_path / "out.parquet"
    with pytest.raises(KeyboardInterrupt):
        gather.gather([archive], out, [EVERYTHING], gather.GatherSettings("reddit"), progress=stop)
    assert not out.exists()
    done, posts = collected([archive], out)
    assert (done.resumed, done.read, done.kept, done.repeated) == (True, 95, 95, 0)
    assert posts["id"].to_list() == [f"reddit:t1_c{i}" for i in range(95)]


def cbor(value):
    """Encode as DAG-CBOR, for the export that the next test makes; a tuple is a link."""

    def head(kind, n):
        return bytes([kind << 5 | n]) if n < 24 else bytes([kind << 5 | 25]) + n.to_bytes(2, "big")

    if value is None:
        return b"\xf6"
    if isinstance(value, tuple):
        return b"\xd8\x2a" + cbor(b"\0" + value[0])
    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, bytes | str):
        data = value.encode() if isinstance(value, str) else value
        return head(3 if isinstance(value, str) else 2, len(data)) + data
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    pairs = sorted(value.items(), key=lambda pair: (len(pair[0]), pair[0]))
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in pairs)


def car_file(path, *texts):
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128, n >> 7])

    def block(data):
        key = b"\x01\x71\x12\x20" + hashlib.sha256(data).digest()
        return key, varint(len(key) + len(data)) + key + data

    posts = [block(cbor({"$type": "app.bsky.feed.post", "text": text, "langs": ["en"]})) for text in texts]
    first = b"app.bsky.feed.post/3ka"
    entries = [
        {
            "k": first if not i else f"{chr(97 + i)}".encode(),
            "p": 0 if not i else len(first) - 1,
            "t": None,
            "v": (key,),
        }
        for i, (key, _) in enumerate(posts)
    ]
    node, node_block = block(cbor({"e": entries, "l": None}))
    root, commit = block(cbor({"did": "did:plc:ada", "data": (node,), "version": 3}))
    header = cbor({"roots": [(root,)], "version": 1})
    path.write_bytes(varint(len(header)) + header + commit + node_block + b"".join(data for _, data in posts))
    return path


def test_a_bluesky_accounts_own_export_is_read(tmp_path):
    from davy.corpus.collect.platforms import bluesky

    archive = car_file(tmp_path / "repo.car", "hello tea", "second")
    _, posts = collected([archive], tmp_path / "out.parquet", platform="bluesky")
    assert posts["text"].to_list() == ["hello tea", "second"]
    addresses = [f"at://did:plc:ada/app.bsky.feed.post/3k{last}" for last in "ab"]
    assert posts["id"].to_list() == [bluesky.key(address) for address in addresses]
    archive.write_bytes(archive.read_bytes()[:-9])
    with pytest.raises(UserError, match=r"repo\.car is cut off or damaged: it is not a whole \.car file"):
        collected([archive], tmp_path / "again.parquet", platform="bluesky")


def test_a_bluesky_export_that_nests_too_deep_is_refused(tmp_path):
    from davy.corpus.collect.platforms.bluesky import read_car

    archive = car_file(tmp_path / "repo.car", "hello tea")
    deep = b"\x81" * 200_000 + b"\x01"
    key = b"\x01\x71\x12\x20" + hashlib.sha256(deep).digest()
    size = len(key) + len(deep)
    length = bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14])
    archive.write_bytes(archive.read_bytes() + length + key + deep)
    with pytest.raises(UserError, match=r"repo\.car is cut off or damaged"):
        list(read_car(archive))


def test_the_name_of_a_profile_and_of_who_is_passed_on_go_no_further_than_the_archive():
    archives = (("reddit", {**COMMENT, "subreddit": "u_Ada"}), ("x", X_PAGE))
    records = records_frame([record for platform, raw in archives for record in records_of(reader(platform), raw)])
    kept = records_to_posts(records, found=pl.Series(["all"] * len(records)), collected_at="2026-01-01")
    assert kept["community"].to_list() == [None, None, None]
    assert "ada" not in kept["meta"].str.join(" ").item().lower()
    assert kept["text"][-1] == "RT [USER]: hm"
