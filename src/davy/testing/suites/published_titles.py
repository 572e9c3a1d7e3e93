"""What the functionalities of HateCheck and HatemojiCheck are called: number, class and title by published name.

F-numbers of HateCheck are those of its first paper (Röttger et al. 2021), in the multilingual files too.
"""

from __future__ import annotations

HATEMOJICHECK: tuple[str, ...] = (
    "verb_swap",
    "identity_swap",
    "descriptor_swap",
    "double_swap",
    "append",
    "positive_confounder",
    "emoji_leetspeak",
)

HATECHECK: tuple[tuple[str, str, str], ...] = (
    ("derog_neg_emote_h", "Derogation", "strong negative emotions"),
    ("derog_neg_attrib_h", "Derogation", "very negative attributes"),
    ("derog_dehum_h", "Derogation", "dehumanisation"),
    ("derog_impl_h", "Derogation", "implicit"),
    ("threat_dir_h", "Threat", "direct"),
    ("threat_norm_h", "Threat", "as a normative statement"),
    ("slur_h", "Slurs", "hateful"),
    ("slur_homonym_nh", "Slurs", "homonyms, not hateful"),
    ("slur_reclaimed_nh", "Slurs", "reclaimed, not hateful"),
    ("profanity_h", "Profanity", "hateful"),
    ("profanity_nh", "Profanity", "not hateful"),
    ("ref_subs_clause_h", "Pronouns", "reference in a later clause"),
    ("ref_subs_sent_h", "Pronouns", "reference in a later sentence"),
    ("negate_pos_h", "Negation", "negated positive statement, hateful"),
    ("negate_neg_nh", "Negation", "negated hateful statement, not hateful"),
    ("phrase_question_h", "Phrasing", "as a question"),
    ("phrase_opinion_h", "Phrasing", "as an opinion"),
    ("ident_neutral_nh", "Identity terms", "neutral statements"),
    ("ident_pos_nh", "Identity terms", "positive statements"),
    ("counter_quote_nh", "Counter speech", "quotes hate"),
    ("counter_ref_nh", "Counter speech", "refers to hate"),
    ("target_obj_nh", "Other targets", "objects"),
    ("target_indiv_nh", "Other targets", "individuals"),
    ("target_group_nh", "Other targets", "groups that are not protected"),
    ("spell_char_swap_h", "Spelling", "swapped characters"),
    ("spell_char_del_h", "Spelling", "missing characters"),
    ("spell_space_del_h", "Spelling", "missing spaces"),
    ("spell_space_add_h", "Spelling", "added spaces"),
    ("spell_leet_h", "Spelling", "leetspeak"),
)


def published_titles() -> dict[str, str]:
    """Return what to call each published functionality: `F15 Negation: negated hateful statement, not hateful`."""
    emoji = {name: f"F{i} {name.replace('_', ' ').capitalize()}" for i, name in enumerate(HATEMOJICHECK, 1)}
    return emoji | {name: f"F{i} {kind}: {title}" for i, (name, kind, title) in enumerate(HATECHECK, 1)}
